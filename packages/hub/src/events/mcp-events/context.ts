import type { StreamSlots } from "../../kernel/access/stream-slots.ts";
import type { BackPressure } from "../../kernel/mcp/back-pressure.ts";
import type { RequestContext } from "../../kernel/mcp/request-context.ts";
import type { Store } from "../../store.ts";
import type { Feed } from "../live/feed.ts";
import type { Subscriber } from "./subscribe.ts";

export interface EventsRequestContext extends RequestContext {
  backPressure: BackPressure;
}

export interface StreamOptions {
  heartbeatMs?: number;
  /** How often a stream checks for a client that stopped reading, and for new event types. */
  checkMs?: number;
  /** How long a connection may stay full before the client is disconnected. */
  stallMs?: number;
  /** The delay before a failed read is retried. */
  retryMs?: number;
  /** The maximum number of open streams of one token. */
  maxPerToken?: number;
}

/** The options, and the open streams of each token. */
export interface EventStreams extends Required<StreamOptions> {
  open: Map<string, Set<Stream>>;
  isClosed(): boolean;
  /** Resolves when every stream has sent its `terminated` notification. */
  close(): Promise<void>;
}

export interface Stream {
  end(ending: Ending): void;
  ended: Promise<void>;
}

/** Undefined if the client has disconnected. */
export type Ending =
  | { reason: "forbidden" | "exhausted" | "shutting_down"; message: string }
  | undefined;

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
