/** Derives a tool name from the name of a node, and checks whether it is free. */
import { toolNameApi } from "@signalbox/contract/apps.ts";
import { numberedName, toolName } from "@signalbox/rules/flows/tool-name.ts";
import { implement, type Route } from "../../kernel/http/route.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { Store } from "../../store.ts";

const MAX_CANDIDATES = 100;

export const toolNameRoutes = (
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
