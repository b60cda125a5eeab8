/** `resources/subscribe` and `resources/unsubscribe` in a session. */
import { ProtocolError, ProtocolErrorCode, type Server } from "@modelcontextprotocol/server";
import type { Access } from "../access/authorizer.ts";
import { requestContextOf } from "./request-context.ts";
import type { Subscriptions } from "./sessions.ts";

const MAX_URIS = 1_000;

export const resourceSubscriptions =
  (isResource: (uri: string, access: Access) => Promise<boolean>) =>
  (server: Server): Subscriptions => {
    const uris = new Set<string>();
    server.setRequestHandler("resources/subscribe", async ({ params: { uri } }, context) => {
      if (!(await isResource(uri, requestContextOf(context).access)))
        throw new ProtocolError(
          ProtocolErrorCode.ResourceNotFound,
          `There is no resource ${uri.slice(0, 200)}.`,
          { uri },
        );
      if (uris.size >= MAX_URIS && !uris.has(uri))
        throw new ProtocolError(
          ProtocolErrorCode.InvalidParams,
          `uri: the session has ${MAX_URIS} subscriptions, which is the limit; unsubscribe from some first.`,
        );
      uris.add(uri);
      return {};
    });
    server.setRequestHandler("resources/unsubscribe", ({ params: { uri } }) => {
      uris.delete(uri);
      return {};
    });
    return { uris, notify: (uri) => void server.sendResourceUpdated({ uri }).catch(() => {}) };
  };
