/** The OAuth clients: registered by themselves (RFC 7591), or described by a metadata document. */
import { z } from "zod";
import type { Timers } from "../../lib/timers.ts";
import type { WebFetch } from "../../lib/web-fetch.ts";
import type { OAuthClient, OAuthStore } from "../../store/oauth-store.ts";
import { fetchClientDocument, isDocumentUrl } from "./client-document.ts";
import { OAuthError, unknownClient } from "./oauth-error.ts";
import { redirectUriError } from "./redirect-uris.ts";

const HOUR_MS = 3_600_000;
/** A client that has no grant is removed after this time. */
const UNUSED_MS = 24 * HOUR_MS;
const DOCUMENT_MS = HOUR_MS;

const list = z.array(z.string().max(2_000)).max(20);

const registration = z.object({
  client_name: z.string().trim().max(200).optional(),
  redirect_uris: list.default([]),
  grant_types: list.default(["authorization_code", "refresh_token"]),
});

export interface ClientsOptions {
  store: Pick<OAuthStore, "putOAuthClient" | "getOAuthClient">;
  /** Must refuse private addresses. */
  fetch: WebFetch;
  timers: Pick<Timers, "now" | "after">;
  newId: () => string;
}

export type Clients = ReturnType<typeof createClients>;

export function createClients({ store, fetch, timers, newId }: ClientsOptions) {
  const { now } = timers;
  return {
    async register(metadata: unknown): Promise<OAuthClient> {
      const { data, error } = registration.safeParse(metadata);
      if (!data) throw new OAuthError("invalid_client_metadata", z.prettifyError(error));
      const wrong = data.redirect_uris.map(redirectUriError).find(Boolean);
      if (wrong !== undefined) throw new OAuthError("invalid_redirect_uri", wrong);
      if (data.grant_types.includes("authorization_code") && data.redirect_uris.length === 0)
        throw new OAuthError("invalid_redirect_uri", "redirect_uris: must not be empty");
      const client: OAuthClient = {
        id: newId(),
        name: data.client_name || "an unnamed client",
        redirect_uris: data.redirect_uris,
        grant_types: data.grant_types,
        created_at: now(),
        expires_at: now() + UNUSED_MS,
      };
      await store.putOAuthClient(client);
      return client;
    },

    /** Fetches the metadata document if it is not cached. */
    async find(id: string): Promise<OAuthClient> {
      const stored = await store.getOAuthClient(id);
      if (!isDocumentUrl(id)) {
        if (!stored) throw unknownClient();
        return stored;
      }
      if (stored && stored.expires_at > now()) return stored;
      const document = await fetchClientDocument(fetch, timers, id);
      const client: OAuthClient = {
        id,
        name: document.client_name || new URL(id).host,
        redirect_uris: document.redirect_uris,
        grant_types: document.grant_types ?? ["authorization_code", "refresh_token"],
        created_at: now(),
        expires_at: now() + DOCUMENT_MS,
      };
      await store.putOAuthClient(client);
      return client;
    },

    /** For requests of clients that have a grant or a pending one: it fetches nothing. */
    async get(id: string | undefined): Promise<OAuthClient> {
      const stored = id === undefined ? undefined : await store.getOAuthClient(id);
      if (!stored) throw unknownClient();
      return stored;
    },
  };
}
