import type { ReserveBytes } from "../../inbox/response-budget.ts";
import type { Store } from "../../store/store.ts";
import type { Feed } from "../../stream/feed.ts";
import type { Access, Authorizer } from "../../tenants/authorizer.ts";
import type { Outflow } from "../outflow.ts";
import type { EventStreams } from "./stream.ts";
import type { Subscriber } from "./subscribe.ts";

/** Who is asking, as the inbox server hands it through the SDK with each request. */
export interface Asking {
  access: Access;
  reserveBytes: ReserveBytes;
  outflow: Outflow;
}

export interface EventsContext {
  store: Store;
  feed: Feed;
  authorizer: Pick<Authorizer, "watch">;
  now: () => number;
  streams: EventStreams;
  subscriber: Subscriber;
  onError: (error: unknown) => void;
}
