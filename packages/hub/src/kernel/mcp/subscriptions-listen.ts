/**
 * `subscriptions/listen`, the stream of notifications of the 2026-07-28 protocol. The SDK has one
 * event bus for all listeners. Here each listener gets its own handler and bus, which carries only
 * events of the listener's tenants.
 */
import {
  createMcpHandler,
  type McpServerFactory,
  type ServerEvent,
  type ServerEventBus,
} from "@modelcontextprotocol/server";
import { z } from "zod";
import type { Access } from "../access/authorizer.ts";
import { findEvictable, ownerOfAccess } from "../lib/fair-share.ts";
import { isStream, type OpenStream, type OpenStreams } from "./open-streams.ts";
import { type RequestContext, serveCall } from "./request-context.ts";
import type { ResourceChanges, Watch } from "./resource-changes.ts";

export interface ListenOptions {
  createServer: McpServerFactory;
  changes: ResourceChanges;
  streams: OpenStreams;
  onError: (error: Error) => void;
  /**
   * Returns the resources of a listen request. By default, these are the resources that its body
   * names.
   */
  watchedResources?: (body: unknown, requestContext: RequestContext) => WatchedResources;
  /** The maximum number of open streams per token and in total. */
  maxPerToken?: number;
  maxTotal?: number;
}

interface Listener {
  access: Access;
  end(): void;
}

interface WatchedResources {
  uris: ReadonlySet<string>;
  eventOf(uri: string): ServerEvent;
}

export interface ListenHandler {
  /** Returns undefined if the method is not `subscriptions/listen`. */
  serve(request: Request, requestContext: RequestContext): Promise<Response | undefined>;
}

/** The SDK rejects a request if its header and its body name different methods. */
export const isListenRequest = ({ headers }: Request): boolean =>
  headers.get("mcp-method") === "subscriptions/listen";

const listenSchema = z.object({
  params: z.object({ notifications: z.object({ resourceSubscriptions: z.array(z.string()) }) }),
});

const namedResources = (body: unknown): WatchedResources => ({
  uris: new Set(listenSchema.safeParse(body).data?.params.notifications.resourceSubscriptions),
  eventOf: (uri) => ({ kind: "resource_updated", uri }),
});

export function createListenHandler({
  createServer,
  changes,
  streams,
  onError,
  watchedResources = namedResources,
  maxPerToken = 64,
  maxTotal = 1_024,
}: ListenOptions): ListenHandler {
  /** The open streams, by their handlers. */
  const open = new Map<object, Listener>();
  /**
   * Returns whether one more stream may open. At the total limit, it ends a stream of a larger
   * tenant.
   */
  const reserveCapacity = (access: Access): boolean => {
    const listeners = [...open.values()];
    if (
      listeners.filter((listener) => listener.access.token === access.token).length >= maxPerToken
    )
      return false;
    if (listeners.length < maxTotal) return true;
    const evicted = findEvictable(listeners, {
      owner: ownerOfAccess(access),
      ownerOf: (listener) => ownerOfAccess(listener.access),
      isIdle: () => false,
    });
    evicted?.end();
    return evicted !== undefined;
  };

  return {
    async serve(request, requestContext) {
      if (!isListenRequest(request)) return undefined;
      const { access } = requestContext;
      const { uris, eventOf } = watchedResources(requestContext.body, requestContext);
      let watch: Watch | undefined;
      let stream: OpenStream | undefined;
      const bus: ServerEventBus = {
        publish() {},
        subscribe(listener) {
          watch = changes.watch({
            tenants: access.tenants,
            uris,
            notify: (uri) => listener(eventOf(uri)),
            isFull: () => stream?.isFull() ?? false,
          });
          return watch.stop;
        },
      };
      const handler = createMcpHandler(createServer, {
        legacy: "reject",
        bus,
        maxSubscriptions: reserveCapacity(access) ? 1 : 0,
        onerror: onError,
      });
      const end = () => {
        open.delete(handler);
        void handler.close();
      };
      open.set(handler, { access, end }); // before the await, so that concurrent requests are counted
      const response = await serveCall(handler, request, requestContext);
      if (!isStream(response)) {
        open.delete(handler);
        return response;
      }
      stream = streams.track(response, {
        request,
        access,
        end,
        onDrain: () => watch?.resume(),
        onEnd: () => void open.delete(handler),
      });
      return stream.response;
    },
  };
}
