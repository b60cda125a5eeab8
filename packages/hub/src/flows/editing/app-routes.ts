/** Apps: each is served as one MCP server. */

import { appSlugFor } from "@signalbox/rules/flows/app-slug.ts";
import { appSchema } from "@signalbox/rules/flows/model.ts";
import { z } from "zod";
import { cursorFor, limitQuery, page, pageOf } from "../../kernel/http/paging.ts";
import { defineRoute, type Route } from "../../kernel/http/route.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { Store } from "../../store.ts";
import { appView, viewApp } from "../views.ts";

const tag = "apps";
const cursors = cursorFor("app");
const appChange = z.strictObject({
  name: appSchema.shape.name.optional(),
  description: appSchema.shape.description.unwrap().optional(),
});

export function appRoutes(store: Store, now: () => number): Route[] {
  const notFound = (slug: string) =>
    new RequestError("not_found", "app", `There is no app ${slug}.`);
  return [
    defineRoute({
      method: "get",
      path: "/api/apps",
      summary: "List apps",
      tag,
      scope: "admin",
      query: z.strictObject({ limit: limitQuery, cursor: cursors.query }),
      response: { status: 200, schema: pageOf(appView) },
      async handle({ tenant, query: { limit, cursor = "" } }) {
        const apps = await store.listApps(tenant, cursor, limit);
        return { json: page(apps, limit, ({ slug }) => cursors.of(slug), viewApp) };
      },
    }),
    defineRoute({
      method: "post",
      path: "/api/apps",
      summary: "Create an app. If the slug is omitted, it is derived from the name",
      tag,
      scope: "admin",
      body: appSchema.partial({ slug: true }),
      response: { status: 201, schema: appView },
      async handle({ tenant, body: { slug, ...body } }) {
        const at = now();
        for (let number = 1; ; number++) {
          const candidate = slug ?? appSlugFor(body.name, number);
          const app = { tenant, slug: candidate, ...body, created_at: at, updated_at: at };
          if (await store.createApp(app)) return { status: 201, json: viewApp(app) };
          if (slug !== undefined)
            throw new RequestError("conflict", "slug", `There is an app ${slug} already.`);
        }
      },
    }),
    defineRoute({
      method: "get",
      path: "/api/apps/:app",
      summary: "Get an app",
      tag,
      scope: "admin",
      response: { status: 200, schema: appView },
      async handle({ tenant, param }) {
        const app = await store.getApp(tenant, param("app"));
        if (!app) throw notFound(param("app"));
        return { json: viewApp(app) };
      },
    }),
    defineRoute({
      method: "patch",
      path: "/api/apps/:app",
      summary: "Change an app's name or description",
      tag,
      scope: "admin",
      body: appChange,
      response: { status: 200, schema: appView },
      async handle({ tenant, param, body: { name, description } }) {
        const change = { ...(name && { name }), ...(description !== undefined && { description }) };
        const app = await store.updateApp(tenant, param("app"), change, now());
        if (!app) throw notFound(param("app"));
        return { json: viewApp(app) };
      },
    }),
    defineRoute({
      method: "delete",
      path: "/api/apps/:app",
      summary: "Delete an app with its flows",
      tag,
      scope: "admin",
      response: { status: 204 },
      async handle({ tenant, param }) {
        if (!(await store.deleteApp(tenant, param("app"), now()))) throw notFound(param("app"));
        return { status: 204 };
      },
    }),
  ];
}
