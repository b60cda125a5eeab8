/**
 * Routes of webhook endpoints. Each has a key in its URL, and signing secrets, which can be written and rotated
 * but not read.
 */
import { sourceApi } from "@signalbox/contract/sources.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { EVERY_TENANT } from "../../kernel/access/scopes.ts";
import { iso, isoOrNull } from "../../kernel/http/paging.ts";
import { implement, type Route } from "../../kernel/http/route.ts";
import { toBase64 } from "../../kernel/lib/bytes.ts";
import { randomSecret } from "../../kernel/lib/random-secret.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { Seal } from "../../kernel/lib/seal.ts";
import type { Store } from "../../store.ts";
import { sources } from "../sources/index.ts";
import type { SourceEndpoint, SourceSecret } from "./model.ts";

interface SourcesOptions {
  store: Pick<
    Store,
    "putTenant" | "putSource" | "listSources" | "addSourceSecret" | "expireSourceSecret"
  >;
  seal: Pick<Seal, "seal">;
  newId: () => string;
  now: () => number;
}

export interface SourceRoutes extends SourcesOptions {
  store: SourcesOptions["store"] & Pick<Store, "deleteSource">;
  /** The hub's public URL, if it is set. */
  publicUrl: string | undefined;
}

export function sourceRoutes({ publicUrl, ...options }: SourceRoutes): Route[] {
  const { store } = options;
  const { add, rotate } = createSources(options);
  const viewSource = (source: SourceEndpoint, origin: string) => ({
    id: source.id,
    tenant: source.tenant,
    kind: source.kind,
    name: source.name,
    url: `${(publicUrl ?? origin).replace(/\/$/, "")}/webhooks/${source.kind}/${source.key}`,
    config: source.config,
    secrets: source.secrets.map(({ id, created_at, expires_at }) => ({
      id,
      created_at: iso(created_at),
      expires_at: isoOrNull(expires_at),
    })),
    created_at: iso(source.created_at),
  });
  /** The tenant can be `*` only if the token is valid for all tenants. */
  const list = (tenant: string) => store.listSources(tenant === EVERY_TENANT ? undefined : tenant);
  const find = async (tenant: string, id: string): Promise<SourceEndpoint> => {
    const source = (await list(tenant)).find((candidate) => candidate.id === id);
    if (!source) throw new RequestError("not_found", "source", `There is no endpoint ${id}.`);
    return source;
  };

  return [
    implement(sourceApi.list, async ({ tenant, origin }) => {
      const sources = await list(tenant);
      return { json: { items: sources.map((source) => viewSource(source, origin)) } };
    }),
    implement(sourceApi.add, async ({ tenant, body, origin }) => {
      const { source, generated } = await add({ tenant, ...body });
      return { json: { ...viewSource(source, origin), ...(generated && { secret: generated }) } };
    }),
    implement(sourceApi.change, async ({ tenant, param, body, origin }) => {
      const { secrets: _, ...source } = await find(tenant, param("source"));
      const changed = {
        ...source,
        name: body.name ?? source.name,
        config: body.config === undefined ? source.config : checkConfig(source.kind, body.config),
      };
      if (body.name !== undefined || body.config !== undefined) await store.putSource(changed);
      const rotated =
        body.rotate &&
        (await rotate(await find(tenant, source.id), {
          secret: body.rotate.secret,
          graceHours: body.rotate.grace_hours,
        }));
      const updated = await find(tenant, source.id);
      return {
        json: {
          ...viewSource(updated, origin),
          ...(rotated?.generated && { secret: rotated.generated }),
        },
      };
    }),
    implement(sourceApi.remove, async ({ tenant, param }) => {
      await store.deleteSource((await find(tenant, param("source"))).id);
    }),
  ];
}

const HOUR_MS = 3_600_000;

/** Generators for kinds that require a certain format of secrets. */
const generators: Record<string, () => string> = {
  "standard-webhooks": () => `whsec_${toBase64(crypto.getRandomValues(new Uint8Array(32)))}`,
};

interface NewSource {
  tenant: string;
  kind: string;
  name?: string | undefined;
  config?: unknown;
  /** If undefined, the hub generates a secret. */
  secret?: string | undefined;
}

function createSources({ store, seal, newId, now }: SourcesOptions) {
  /** Encrypts a secret. `generated` is the plain text of a generated secret, to be shown once. */
  async function createSecret(
    kind: string,
    chosenSecret: string | undefined,
  ): Promise<{ sealed: SourceSecret; generated: string | undefined }> {
    const secret = chosenSecret ?? (generators[kind] ?? (() => randomSecret("")))();
    return {
      sealed: {
        id: newId(),
        sealed: await seal.seal(secret),
        created_at: now(),
        expires_at: null,
      },
      generated: chosenSecret === undefined ? secret : undefined,
    };
  }

  return {
    async add(
      newSource: NewSource,
    ): Promise<{ source: SourceEndpoint; generated: string | undefined }> {
      const definition = definitionOf(newSource.kind);
      const added = {
        id: newId(),
        tenant: newSource.tenant,
        kind: definition.id,
        name: newSource.name ?? definition.title,
        key: randomSecret("").slice(0, 22),
        config: checkConfig(definition.id, newSource.config),
        created_at: now(),
      };
      const { sealed, generated } = await createSecret(added.kind, newSource.secret);
      await store.putTenant({ id: added.tenant, at: added.created_at });
      await store.putSource(added, sealed);
      return { source: { ...added, secrets: [sealed] }, generated };
    },

    /**
     * Adds a secret. The previous secrets stay valid for the grace period, so that the sender can
     * switch.
     */
    async rotate(
      source: SourceEndpoint,
      { secret, graceHours }: { secret?: string | undefined; graceHours: number },
    ): Promise<{ generated: string | undefined; until: number }> {
      const until = now() + Math.round(graceHours * HOUR_MS);
      const { sealed, generated } = await createSecret(source.kind, secret);
      // The new secret is added first, so a crash leaves a valid secret.
      await store.addSourceSecret(source.id, sealed);
      for (const old of source.secrets)
        if (old.expires_at === null || old.expires_at > until)
          await store.expireSourceSecret(source.id, old.id, until);
      return { generated, until };
    },
  };
}

function definitionOf(kind: string): (typeof sources)[number] {
  const definition = sources.find(({ id }) => id === kind);
  if (definition) return definition;
  const kinds = sources.map(({ id }) => id).join(", ");
  throw new RequestError("invalid", "kind", `must be one of: ${kinds}`);
}

/**
 * Validates the config. Returns it unchanged, without the defaults of the kind, because defaults may
 * change.
 */
function checkConfig(kind: string, rawConfig: unknown = {}): JsonObject {
  const { config, title } = definitionOf(kind);
  const isEmpty =
    typeof rawConfig === "object" && rawConfig !== null && Object.keys(rawConfig).length === 0;
  if (!config) {
    if (!isEmpty) throw new RequestError("invalid", "config", `${title} has nothing to configure.`);
    return {};
  }
  const parsed = config.safeParse(rawConfig);
  if (parsed.success) return rawConfig as JsonObject;
  const errors = parsed.error.issues.map(({ path, message }) => ({
    path: ["config", ...path].join("."),
    message,
  }));
  throw new RequestError("invalid", errors[0]?.path ?? "config", errors[0]?.message ?? "", errors);
}
