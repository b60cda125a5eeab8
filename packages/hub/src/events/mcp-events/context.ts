import type { StreamSlots } from "../../kernel/access/stream-slots.ts";
import type { BackPressure } from "../../kernel/mcp/back-pressure.ts";
import type { RequestContext } from "../../kernel/mcp/request-context.ts";
import type { Store } from "../../store.ts";
import type { Feed } from "../live/feed.ts";
import type { EventStreams } from "./stream.ts";
import type { Subscriber } from "./subscribe.ts";

export interface EventsRequestContext extends RequestContext {
  backPressure: BackPressure;
}

/** The dependencies of all methods of MCP Events. */
export interface EventsContext {
  store: Store;
  feed: Feed;
  streamSlots: StreamSlots;
  now: () => number;
  streams: EventStreams;
  subscriber: Subscriber;
  onError: (error: unknown) => void;
}
