/** Webhook endpoints of a tenant: each has a key in its URL, and secrets that can be changed while it runs. */
import { sources } from "../ingest/sources/index.ts";
import { toBase64 } from "../lib/hmac.ts";
import { RequestError } from "../lib/request-error.ts";
import type { Seal } from "../lib/seal.ts";
import type { Source, SourceSecret, Store } from "../store/store.ts";
import { randomSecret } from "./tokens.ts";

const HOUR_MS = 3_600_000;
export const MAX_GRACE_HOURS = 87_600;
export const GRACE_HOURS = 24;

/** Kinds whose senders want secrets of a certain form; the others take any text. */
const madeSecrets: Record<string, () => string> = {
  "standard-webhooks": () => `whsec_${toBase64(crypto.getRandomValues(new Uint8Array(32)))}`,
};

export interface SourcesOptions {
  store: Pick<
    Store,
    "putTenant" | "putSource" | "listSources" | "addSourceSecret" | "expireSourceSecret"
  >;
  seal: Pick<Seal, "seal">;
  newId: () => string;
  now: () => number;
}

export interface NewSource {
  tenant: string;
  kind: string;
  name?: string | undefined;
  config?: unknown;
  /** One is made where none is given. */
  secret?: string | undefined;
}

export const webhookPath = ({ kind, key }: Pick<Source, "kind" | "key">): string =>
  `/webhooks/${kind}/${key}`;

export function createSources({ store, seal, newId, now }: SourcesOptions) {
  /** Ready to be stored; and as text where it was made here, to be shown once. */
  async function makeSecret(
    kind: string,
    given: string | undefined,
  ): Promise<{ sealed: SourceSecret; made: string | undefined }> {
    const secret = given ?? (madeSecrets[kind] ?? (() => randomSecret("")))();
    return {
      sealed: {
        id: newId(),
        sealed: await seal.seal(secret),
        created_at: now(),
        expires_at: null,
      },
      made: given === undefined ? secret : undefined,
    };
  }

  return {
    async add(given: NewSource): Promise<{ source: Source; made: string | undefined }> {
      const definition = definitionOf(given.kind);
      const added = {
        id: newId(),
        tenant: given.tenant,
        kind: definition.id,
        name: given.name ?? definition.title,
        key: randomSecret("").slice(0, 22),
        config: checkConfig(definition.id, given.config),
        created_at: now(),
      };
      const { sealed, made } = await makeSecret(added.kind, given.secret);
      await store.putTenant({ id: added.tenant, at: added.created_at });
      await store.putSource(added, sealed);
      return { source: { ...added, secrets: [sealed] }, made };
    },

    /** The older secrets go on working for a while, so that the sender can change over. */
    async rotate(
      source: Source,
      { secret, graceHours }: { secret?: string | undefined; graceHours: number },
    ): Promise<{ made: string | undefined; until: number }> {
      const until = now() + Math.round(graceHours * HOUR_MS);
      const { sealed, made } = await makeSecret(source.kind, secret);
      // The new one first: whatever happens in between, the endpoint has a secret that works.
      await store.addSourceSecret(source.id, sealed);
      for (const old of source.secrets)
        if (old.expires_at === null || old.expires_at > until)
          await store.expireSourceSecret(source.id, old.id, until);
      return { made, until };
    },
  };
}

function definitionOf(kind: string): (typeof sources)[number] {
  const definition = sources.find(({ id }) => id === kind);
  if (definition) return definition;
  const known = sources.map(({ id }) => id).join(", ");
  throw new RequestError("invalid", "kind", `Which kind? Known are: ${known}.`);
}

/** Stored as it was given: what the kind adds to it may change. */
export function checkConfig(kind: string, given: unknown = {}): Record<string, unknown> {
  const { config, title } = definitionOf(kind);
  const isEmpty = typeof given === "object" && given !== null && Object.keys(given).length === 0;
  if (!config) {
    if (!isEmpty) throw new RequestError("invalid", "config", `${title} has nothing to configure.`);
    return {};
  }
  const parsed = config.safeParse(given);
  if (parsed.success) return given as Record<string, unknown>;
  const errors = parsed.error.issues.map(({ path, message }) => ({
    path: ["config", ...path].join("."),
    message,
  }));
  throw new RequestError("invalid", errors[0]?.path ?? "config", errors[0]?.message ?? "", errors);
}
