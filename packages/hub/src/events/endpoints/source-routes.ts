/** Routes of webhook endpoints and their signing secrets, which can be written but not read. */
import { jsonObject } from "@signalbox/rules/flows/json-value.ts";
import { z } from "zod";
import { EVERY_TENANT } from "../../kernel/access/scopes.ts";
import { iso, isoOrNull } from "../../kernel/http/paging.ts";
import { defineRoute, type Route } from "../../kernel/http/route.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import { MIN_SECRET_LENGTH, SHORT_SECRET } from "../../kernel/lib/secret-length.ts";
import type { Store } from "../../store.ts";
import {
  checkConfig,
  type createSources,
  GRACE_HOURS,
  MAX_GRACE_HOURS,
  webhookPath,
} from "./endpoints.ts";
import type { SourceEndpoint } from "./model.ts";

const tag = "sources";
const scope = "admin" as const;

const time = z.iso.datetime();
export const sourceView = z.object({
  id: z.string(),
  tenant: z.string(),
  kind: z.string(),
  name: z.string(),
  url: z.string().describe("The webhook URL to configure at the sender."),
  config: z.record(z.string(), z.json()),
  secrets: z.array(z.object({ id: z.string(), created_at: time, expires_at: time.nullable() })),
  created_at: time,
});
export const withSecret = sourceView.extend({
  secret: z
    .string()
    .optional()
    .describe("The secret, if the hub generated it; only this response contains it."),
});

const name = z.string().trim().min(1, "must not be empty").max(200);
const config = jsonObject("must be an object");
const secret = z.string("must be a string").min(MIN_SECRET_LENGTH, SHORT_SECRET).max(4096);

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
    defineRoute({
      method: "get",
      path: "/api/sources",
      summary: "List webhook endpoints; with ?tenant=*, of all tenants",
      tag,
      scope,
      everyTenant: true,
      response: { status: 200, schema: z.object({ items: z.array(sourceView) }) },
      async handle({ tenant, origin }) {
        const sources = await list(tenant);
        return { json: { items: sources.map((source) => viewSource(source, origin)) } };
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/sources",
      summary: "Create a webhook endpoint; without a secret, the hub generates one",
      tag,
      scope,
      body: z.strictObject({
        kind: z.string("must be a kind of source, such as github"),
        name: name.optional(),
        config: config.optional(),
        secret: secret.optional(),
      }),
      response: { status: 201, schema: withSecret },
      async handle({ tenant, body, origin }) {
        const { source, generated } = await sources.add({ tenant, ...body });
        return {
          status: 201,
          json: { ...viewSource(source, origin), ...(generated && { secret: generated }) },
        };
      },
    }),
    defineRoute({
      method: "patch",
      path: "/api/sources/:source",
      summary: "Change an endpoint's name or config, or rotate its secret",
      tag,
      scope,
      everyTenant: true,
      body: z.strictObject({
        name: name.optional(),
        config: config.optional(),
        rotate: z
          .strictObject({
            secret: secret.optional(),
            grace_hours: z
              .number()
              .min(0, "must be at least 0")
              .max(MAX_GRACE_HOURS, `must be at most ${MAX_GRACE_HOURS}`)
              .default(GRACE_HOURS)
              .describe("How long the previous secrets stay valid."),
          })
          .optional(),
      }),
      response: { status: 200, schema: withSecret },
      async handle({ tenant, param, body, origin }) {
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
      },
    }),
    defineRoute({
      method: "delete",
      path: "/api/sources/:source",
      summary: "Delete an endpoint; its events are kept",
      tag,
      scope,
      everyTenant: true,
      response: { status: 204 },
      async handle({ tenant, param }) {
        await store.deleteSource((await find(tenant, param("source"))).id);
        return { status: 204 };
      },
    }),
  ];
}
