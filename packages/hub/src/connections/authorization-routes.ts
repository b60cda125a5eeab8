/** Routes with which a person authorizes the hub at the authorization server of a connection (OAuth). */
import { authorizationApi, type ConnectionDetails } from "@signalbox/contract/connections.ts";
import type { Hono } from "hono";
import { baseUrl } from "../kernel/access/authorize-request.ts";
import { iso } from "../kernel/http/paging.ts";
import { implement, type Route } from "../kernel/http/route.ts";
import { RequestError } from "../kernel/lib/request-error.ts";
import { AUTHORIZED_PATH, type Authorizations, CLIENT_METADATA_PATH } from "./authorizations.ts";
import { clientMetadata } from "./client-metadata.ts";
import type { ConnectionEditor } from "./connection-editor.ts";
import { ConnectionError } from "./connection-error.ts";
import { failedCallResponse } from "./connection-routes.ts";
import type { Connection } from "./model.ts";

/**
 * Serves the metadata of the hub as an OAuth client. The URL of this document is the client id. Only
 * authorization servers that can fetch the document accept this id.
 */
export function addClientMetadataRoute(app: Hono, publicUrl: string | undefined): void {
  app.get(CLIENT_METADATA_PATH, (c) => {
    const hub = baseUrl(c.req, publicUrl);
    return c.json({
      client_id: `${hub}${CLIENT_METADATA_PATH}`,
      client_uri: hub,
      ...clientMetadata(`${hub}${AUTHORIZED_PATH}`),
    });
  });
}

export interface AuthorizationRoutes {
  editor: ConnectionEditor;
  /** Undefined if no hub runs, and a command uses the routes. */
  authorizations: Authorizations | undefined;
  /** If undefined, the hub's URL is the origin of the request. */
  publicUrl: string | undefined;
  viewDetails: (connection: Connection) => Promise<ConnectionDetails>;
}

export function authorizationRoutes(options: AuthorizationRoutes): Route[] {
  const { editor, authorizations, publicUrl, viewDetails } = options;

  /** Calls `work`, and maps a `ConnectionError` to a problem response. */
  async function withAuthorizations<Result>(
    work: (authorizations: Authorizations) => Promise<Result>,
  ): Promise<Result | Response> {
    if (!authorizations)
      throw new RequestError(
        "conflict",
        "connection",
        "No hub is running that could authorize the connection: start it with `npx signalbox serve`.",
      );
    try {
      return await work(authorizations);
    } catch (error) {
      if (error instanceof ConnectionError) return failedCallResponse(error);
      throw error;
    }
  }

  return [
    implement(authorizationApi.begin, async ({ tenant, param, access, origin }) => {
      const connection = await editor.find(tenant, param("connection"));
      const hubUrl = baseUrl({ url: origin }, publicUrl);
      const result = await withAuthorizations(({ begin }) =>
        begin(connection, { by: access.token, hubUrl }),
      );
      if (result instanceof Response) return result;
      return { json: { url: result.url, expires_at: iso(result.expires_at) } };
    }),
    implement(authorizationApi.complete, async ({ tenant, param, access, body, signal }) => {
      const connection = await editor.find(tenant, param("connection"));
      const failed = await withAuthorizations(({ complete }) =>
        complete(connection, { ...body, by: access.token }),
      );
      if (failed instanceof Response) return failed;
      return { json: await viewDetails(await editor.check(tenant, connection.id, signal)) };
    }),
    implement(authorizationApi.signOut, async ({ tenant, param, signal }) => {
      const connection = await editor.find(tenant, param("connection"));
      const failed = await withAuthorizations(({ signOut }) => signOut(connection));
      if (failed instanceof Response) return failed;
      return { json: await viewDetails(await editor.check(tenant, connection.id, signal)) };
    }),
  ];
}
