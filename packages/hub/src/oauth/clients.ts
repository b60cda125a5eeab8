/** The OAuth clients: registered by themselves (RFC 7591), or described by a metadata document. */
import type { Timers } from "../kernel/lib/timers.ts";
import type { WebFetch } from "../kernel/lib/web-fetch.ts";
import type { Store } from "../store.ts";
import { fetchClientDocument, isDocumentUrl } from "./client-document.ts";
import type { OAuthClient } from "./model.ts";
import { OAuthError, unknownClient } from "./oauth-error.ts";
import { readRegistration } from "./registration.ts";

const HOUR_MS = 3_600_000;
/** A client that has no grant is removed after this time. */
const UNUSED_MS = 24 * HOUR_MS;
/** Beyond this number, registrations remove the oldest clients without a grant. */
const MAX_UNUSED = 10_000;
/** A new client is not removed within this time, because a person may be signing in. */
const SIGN_IN_MS = 10 * 60_000;
/** How long a metadata document is cached. */
const DOCUMENT_MS = HOUR_MS;

export interface ClientsOptions {
  store: Pick<Store, "putOAuthClient" | "registerOAuthClient" | "getOAuthClient">;
  /** Must refuse private addresses. */
  fetch: WebFetch;
  timers: Pick<Timers, "now" | "after">;
  newId: () => string;
  maxUnused?: number | undefined;
}

export type Clients = ReturnType<typeof createClients>;

export function createClients(options: ClientsOptions) {
  const { store, fetch, timers, newId, maxUnused = MAX_UNUSED } = options;
  const { now } = timers;
  return {
    async register(metadata: unknown): Promise<OAuthClient> {
      const data = readRegistration(metadata);
      const client: OAuthClient = {
        id: newId(),
        name: data.client_name || "an unnamed client",
        redirect_uris: data.redirect_uris,
        grant_types: data.grant_types,
        created_at: now(),
        expires_at: now() + UNUSED_MS,
      };
      const removableBefore = now() - SIGN_IN_MS;
      const registered = await store.registerOAuthClient(client, { maxUnused, removableBefore });
      if (registered.outcome === "full")
        throw new OAuthError(
          "temporarily_unavailable",
          "Too many clients have registered themselves recently. Try again later, or use a client ID metadata document.",
          503,
          Math.max(registered.oldest - removableBefore, 1_000),
        );
      return client;
    },

    /**
     * Finds a client by its id. If the id is a URL, fetches the metadata document unless it is
     * cached.
     */
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

    /** Like `find`, but fetches nothing: for clients that already have a grant, or a pending one. */
    async get(id: string | undefined): Promise<OAuthClient> {
      const stored = id === undefined ? undefined : await store.getOAuthClient(id);
      if (!stored) throw unknownClient();
      return stored;
    },
  };
}
