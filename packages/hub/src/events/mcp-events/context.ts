import type { Store } from "../../store/store.ts";
import type { Feed } from "../../stream/feed.ts";
import type { StreamSlots } from "../../tenants/stream-slots.ts";
import type { BackPressure } from "../back-pressure.ts";
import type { RequestContext } from "../request-context.ts";
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
