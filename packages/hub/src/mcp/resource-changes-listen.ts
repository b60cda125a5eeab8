/**
 * `subscriptions/listen`, the stream of changes of the 2026-07-28 era. The SDK has one bus for all
 * who listen; here each listener gets a handler with a bus of its own, on which only what belongs to
 * its tenants is ever said.
 */
import {
  createMcpHandler,
  type McpServerFactory,
  type ServerEvent,
  type ServerEventBus,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import { MAX_OPENING_BYTES, peekBody, type RequestContext, toAuthInfo } from "./request-context.ts";
import type { ResourceChanges, Watcher } from "./resource-changes.ts";
import { type HeldStream, isStream, type OpenStreams } from "./sessions-streams.ts";

export interface ListeningOptions {
  createServer: McpServerFactory;
  changes: ResourceChanges;
  streams: OpenStreams;
  onError: (error: Error) => void;
  /** What a client that asked so is told of. Left out: the resources that it names. */
  wanted?: (body: unknown, requestContext: RequestContext) => Wanted;
  /** How many there may be, of one token and of all. */
  mostOfToken?: number;
  most?: number;
}

interface Wanted {
  uris: ReadonlySet<string>;
  eventOf(uri: string): ServerEvent;
}

export interface Listening {
  /** Undefined where the request is not one to listen. */
  serve(request: Request, requestContext: RequestContext): Promise<Response | undefined>;
}

const filter = z.object({
  params: z.object({ notifications: z.object({ resourceSubscriptions: z.array(z.string()) }) }),
});

const wantedResources = (body: unknown): Wanted => ({
  uris: new Set(filter.safeParse(body).data?.params.notifications.resourceSubscriptions),
  eventOf: (uri) => ({ kind: "resource_updated", uri }),
});

export function createListening({
  createServer,
  changes,
  streams,
  onError,
  wanted = wantedResources,
  mostOfToken = 64,
  most = 1_024,
}: ListeningOptions): Listening {
  const open = new Map<object, string>();

  return {
    async serve(request, requestContext) {
      // The SDK refuses a request whose header and body do not agree.
      if (request.headers.get("mcp-method") !== "subscriptions/listen") return undefined;
      const { access } = requestContext;
      const { uris, eventOf } = wanted(await peekBody(request), requestContext);
      let watcher: Watcher | undefined;
      let held: HeldStream | undefined;
      const bus: ServerEventBus = {
        publish() {},
        subscribe(listener) {
          watcher = changes.watch({
            tenants: access.tenants,
            uris,
            tell: (uri) => listener(eventOf(uri)),
            isFull: () => held?.isFull() ?? false,
          });
          return watcher.stop;
        },
      };
      const own = [...open.values()].filter((token) => token === access.token).length;
      const handler = createMcpHandler(createServer, {
        legacy: "reject",
        bus,
        maxSubscriptions: own < mostOfToken && open.size < most ? 1 : 0,
        maxRequestBodySize: MAX_OPENING_BYTES,
        onerror: onError,
      });
      open.set(handler, access.token); // from now on: many may come at once
      const response = await handler.fetch(request, { authInfo: toAuthInfo(requestContext) });
      if (!isStream(response)) {
        open.delete(handler);
        return response;
      }
      held = streams.hold(response, {
        request,
        access,
        end: () => void handler.close(),
        onDrain: () => watcher?.resume(),
        onEnd: () => void open.delete(handler),
      });
      return held.response;
    },
  };
}
