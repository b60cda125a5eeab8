/** Routes of webhook endpoints and their signing secrets, which can be written but not read. */
import { sourceApi } from "@signalbox/contract/sources.ts";
import { EVERY_TENANT } from "../../kernel/access/scopes.ts";
import { iso, isoOrNull } from "../../kernel/http/paging.ts";
import { implement, type Route } from "../../kernel/http/route.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { Store } from "../../store.ts";
import { checkConfig, type createSources, webhookPath } from "./endpoints.ts";
import type { SourceEndpoint } from "./model.ts";

export interface SourceRoutes {
  store: Pick<Store, "listSources" | "putSource" | "deleteSource">;
  sources: ReturnType<typeof createSources>;
  /** The hub's public URL, if it is set. */
  publicUrl: string | undefined;
}

export function sourceRoutes({ store, sources, publicUrl }: SourceRoutes): Route[] {
  const viewSource = (source: SourceEndpoint, origin: string) => ({
    id: source.id,
    tenant: source.tenant,
    kind: source.kind,
    name: source.name,
    url: `${(publicUrl ?? origin).replace(/\/$/, "")}${webhookPath(source)}`,
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
      const { source, generated } = await sources.add({ tenant, ...body });
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
        (await sources.rotate(await find(tenant, source.id), {
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
