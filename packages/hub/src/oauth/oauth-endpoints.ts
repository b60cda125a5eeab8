/** The OAuth endpoints that clients call: registration, tokens, revocation and device codes. */
import type { Json } from "@signalbox/rules/json.ts";
import type { Context, Hono } from "hono";
import { baseUrl } from "../kernel/access/authorize-request.ts";
import { readJson, readText, TOO_LARGE, tooLargeMessage } from "../kernel/http/read-json.ts";
import { messageWithField, RequestError } from "../kernel/lib/request-error.ts";
import type { Store } from "../store.ts";
import type { Clients } from "./clients.ts";
import { startDevice } from "./device.ts";
import { type Form, readForm, requireParam } from "./form.ts";
import { OAuthError } from "./oauth-error.ts";
import type { createTokenEndpoint } from "./token-endpoint.ts";

const MAX_FORM_BYTES = 65_536;
const MAX_REGISTRATION_BYTES = 8_192;
/** Tokens must not stay in caches (RFC 6749, section 5.1). */
const NO_STORE = { "cache-control": "no-store", pragma: "no-cache" };

export interface OAuthEndpoints {
  clients: Clients;
  tokens: ReturnType<typeof createTokenEndpoint>;
  store: Pick<Store, "createOAuthGrant">;
  newId: () => string;
  now: () => number;
  publicUrl: string | undefined;
}

export function addOAuthEndpoints(app: Hono, options: OAuthEndpoints): void {
  const { clients, tokens, store, newId, now, publicUrl } = options;
  const addPost = (path: string, respond: (c: Context, hub: string) => Promise<Response>) =>
    app.post(path, async (c) => {
      try {
        return await respond(c, baseUrl(c.req, publicUrl));
      } catch (error) {
        return oauthErrorResponse(error);
      }
    });

  addPost("/oauth/register", async (c) => {
    const client = await clients.register(await registrationOf(c));
    const response = {
      client_id: client.id,
      client_id_issued_at: Math.floor(client.created_at / 1000),
      client_name: client.name,
      redirect_uris: client.redirect_uris,
      grant_types: client.grant_types,
      response_types: client.redirect_uris.length > 0 ? ["code"] : [],
      token_endpoint_auth_method: "none",
    };
    return c.json(response, 201, NO_STORE);
  });

  addPost("/oauth/token", async (c, hub) => {
    const form = await formOf(c);
    requireParam(form, "grant_type");
    return c.json(await tokens.issue(await clients.get(form.client_id), form, hub), 200, NO_STORE);
  });

  addPost("/oauth/revoke", async (c) => {
    const form = await formOf(c);
    await tokens.revoke(await clients.get(form.client_id), requireParam(form, "token"));
    return c.body(null, 200, NO_STORE);
  });

  addPost("/oauth/device_authorization", async (c, hub) => {
    const form = await formOf(c);
    const client = await clients.get(form.client_id);
    return c.json(await startDevice(client, form, { store, newId, now, hub }), 200, NO_STORE);
  });
}

/** Reads the client's metadata (RFC 7591) from the body. */
async function registrationOf(c: Context): Promise<Json> {
  const invalid = (description: string) => new OAuthError("invalid_client_metadata", description);
  const body = await readJson(c.req.raw.body, MAX_REGISTRATION_BYTES).catch((error: unknown) => {
    throw error instanceof RequestError ? invalid(messageWithField(error)) : error;
  });
  if (body !== TOO_LARGE) return body;
  const fields = "client_name, redirect_uris and grant_types";
  throw invalid(`${tooLargeMessage(MAX_REGISTRATION_BYTES)} The hub needs only ${fields}.`);
}

/** Reads the parameters from the body. */
export async function formOf(c: Context): Promise<Form> {
  const type = c.req.header("content-type") ?? "";
  if (!/^application\/x-www-form-urlencoded\s*(;|$)/i.test(type))
    throw new OAuthError(
      "invalid_request",
      "Send the parameters as application/x-www-form-urlencoded.",
    );
  const body = await readText(c.req.raw.body, MAX_FORM_BYTES);
  if (body === TOO_LARGE) throw new OAuthError("invalid_request", tooLargeMessage(MAX_FORM_BYTES));
  return readForm(new URLSearchParams(body));
}

/** Maps an `OAuthError` to a response. Rethrows other errors. */
function oauthErrorResponse(thrown: unknown): Response {
  if (!(thrown instanceof OAuthError)) throw thrown;
  const { error, status, message, retryAfterMs } = thrown;
  const headers = {
    ...NO_STORE,
    ...(retryAfterMs !== undefined && { "retry-after": `${Math.ceil(retryAfterMs / 1_000)}` }),
  };
  return Response.json({ error, error_description: message }, { status, headers });
}
