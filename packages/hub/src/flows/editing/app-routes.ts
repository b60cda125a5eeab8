/** Apps, each served as one MCP server, and the names of their tools. */
import { appApi, appCursors, toolNameApi } from "@signalbox/contract/apps.ts";
import { appSlugFor } from "@signalbox/rules/flows/app-slug.ts";
import { numberedName, toolName } from "@signalbox/rules/flows/tool-name.ts";
import { page } from "../../kernel/http/paging.ts";
import { implement, type Route } from "../../kernel/http/route.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { Store } from "../../store.ts";
import { viewApp } from "../views.ts";

export function appRoutes(store: Store, now: () => number): Route[] {
  const notFound = (slug: string) =>
    new RequestError("not_found", "app", `There is no app ${slug}.`);
  return [
    implement(appApi.list, async ({ tenant, query: { limit, cursor = "" } }) => {
      const apps = await store.listApps(tenant, cursor, limit);
      return { json: page(apps, limit, ({ slug }) => appCursors.of(slug), viewApp) };
    }),
    implement(appApi.create, async ({ tenant, body: { slug, ...body } }) => {
      const at = now();
      for (let number = 1; ; number++) {
        const candidate = slug ?? appSlugFor(body.name, number);
        const app = { tenant, slug: candidate, ...body, created_at: at, updated_at: at };
        if (await store.createApp(app)) return { json: viewApp(app) };
        if (slug !== undefined)
          throw new RequestError("conflict", "slug", `There is an app ${slug} already.`);
      }
    }),
    implement(appApi.get, async ({ tenant, param }) => {
      const app = await store.getApp(tenant, param("app"));
      if (!app) throw notFound(param("app"));
      return { json: viewApp(app) };
    }),
    implement(appApi.change, async ({ tenant, param, body: { name, description } }) => {
      const change = { ...(name && { name }), ...(description !== undefined && { description }) };
      const app = await store.updateApp(tenant, param("app"), change, now());
      if (!app) throw notFound(param("app"));
      return { json: viewApp(app) };
    }),
    implement(appApi.remove, async ({ tenant, param }) => {
      if (!(await store.deleteApp(tenant, param("app"), now()))) throw notFound(param("app"));
    }),
    ...toolNameRoutes(store, now),
  ];
}

const MAX_CANDIDATES = 100;

/** Derives a tool name from the name of a node, and checks whether it is free. */
const toolNameRoutes = (
  store: Pick<Store, "getApp" | "findToolOwner">,
  now: () => number,
): Route[] => [
  implement(toolNameApi.suggest, async ({ tenant, param, query }) => {
    const app = param("app");
    if (!(await store.getApp(tenant, app)))
      throw new RequestError("not_found", "app", `There is no app ${app}.`);
    const name = toolName(query.name);
    const isFree = async (candidate: string) => {
      const owner = await store.findToolOwner(tenant, app, candidate, now());
      return owner === undefined || owner === query.flow;
    };
    const available = await isFree(name);
    let number = 1;
    while (number < MAX_CANDIDATES && !(await isFree(numberedName(name, number)))) number += 1;
    return { json: { name, available, suggestion: numberedName(name, number) } };
  }),
];
