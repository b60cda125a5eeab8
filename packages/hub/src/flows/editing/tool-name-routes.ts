/** Derives a tool name from the name of a node, and checks whether it is free. */
import { numberedName, toolName } from "@signalbox/rules/flows/tool-name.ts";
import { z } from "zod";
import { defineRoute, type Route } from "../../kernel/http/route.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { Store } from "../../store.ts";

export const toolNameView = z.object({
  name: z.string().describe("The tool name that is derived from the requested name."),
  available: z.boolean(),
  suggestion: z.string().describe("The next free name, which the hub would assign."),
});

const MAX_CANDIDATES = 100;

export const toolNameRoutes = (
  store: Pick<Store, "getApp" | "findToolOwner">,
  now: () => number,
): Route[] => [
  defineRoute({
    method: "get",
    path: "/api/apps/:app/tool-name",
    summary: "Derive a tool name from the name of a node, and check whether it is free in the app",
    tag: "apps",
    scope: "admin",
    query: z.strictObject({
      name: z.string("must be the name of a node").max(300).default(""),
      flow: z
        .string()
        .max(100)
        .optional()
        .describe("The flow of the node. The names of its own tools count as free."),
    }),
    response: { status: 200, schema: toolNameView },
    async handle({ tenant, param, query }) {
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
    },
  }),
];
