/** Routes with which a person authorizes the hub at the authorization server of a connection (OAuth). */
import type { Hono } from "hono";
import { z } from "zod";
import { baseUrl } from "../kernel/access/authorize-request.ts";
import { iso } from "../kernel/http/paging.ts";
import { defineRoute, type Route } from "../kernel/http/route.ts";
import { RequestError } from "../kernel/lib/request-error.ts";
import { AUTHORIZED_PATH, type Authorizations, CLIENT_METADATA_PATH } from "./authorizations.ts";
import { clientMetadata } from "./client-metadata.ts";
import type { ConnectionEditor } from "./connection-editor.ts";
import { ConnectionError } from "./connection-error.ts";
import { connectionDetails, failedCallResponse } from "./connection-routes.ts";
import type { Connection } from "./model.ts";

const tag = "connections";
const scope = "admin" as const;
const path = "/api/connections/:connection/authorization";

const startedView = z.object({
  url: z.string().describe("The page of the authorization server, to open in the same browser."),
  expires_at: z.iso.datetime(),
});

const parameter = (max: number) =>
  z.string("must be a string").max(max, `must have at most ${max} characters`);

/** The query with which the authorization server redirects to the web UI. */
const authorizationResponse = z.strictObject({
  state: parameter(300),
  code: parameter(8_000).optional(),
  iss: parameter(2_000).optional(),
  error: parameter(200).optional(),
  error_description: parameter(2_000).optional(),
});

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
  viewDetails: (connection: Connection) => Promise<z.input<typeof connectionDetails>>;
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
    defineRoute({
      method: "post",
      path,
      summary:
        "Begin to authorize the hub with OAuth. The web UI completes it in the session that began it",
      tag,
      scope,
      response: { status: 201, schema: startedView },
      async handle({ tenant, param, access, origin }) {
        const connection = await editor.find(tenant, param("connection"));
        const hubUrl = baseUrl({ url: origin }, publicUrl);
        const result = await withAuthorizations(({ begin }) =>
          begin(connection, { by: access.token, hubUrl }),
        );
        if (result instanceof Response) return result;
        return { status: 201, json: { url: result.url, expires_at: iso(result.expires_at) } };
      },
    }),
    defineRoute({
      method: "put",
      path,
      summary:
        "Complete the authorization with the parameters of the redirect, and check the server",
      tag,
      scope,
      body: authorizationResponse,
      response: { status: 200, schema: connectionDetails },
      async handle({ tenant, param, access, body, signal }) {
        const connection = await editor.find(tenant, param("connection"));
        const failed = await withAuthorizations(({ complete }) =>
          complete(connection, { ...body, by: access.token }),
        );
        if (failed instanceof Response) return failed;
        return { json: await viewDetails(await editor.check(tenant, connection.id, signal)) };
      },
    }),
    defineRoute({
      method: "delete",
      path,
      summary: "Sign out: delete the tokens of the connection, and revoke them at their server",
      tag,
      scope,
      response: { status: 200, schema: connectionDetails },
      async handle({ tenant, param, signal }) {
        const connection = await editor.find(tenant, param("connection"));
        const failed = await withAuthorizations(({ signOut }) => signOut(connection));
        if (failed instanceof Response) return failed;
        return { json: await viewDetails(await editor.check(tenant, connection.id, signal)) };
      },
    }),
  ];
}
