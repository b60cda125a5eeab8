/** The tool name that a node's name gives, and whether it is free. */
import { numberedName, toolName } from "@signalbox/rules/flows/tool-name.ts";
import { z } from "zod";
import { RequestError } from "../lib/request-error.ts";
import type { Store } from "../store/store.ts";
import { defineRoute, type Route } from "./route.ts";

export const toolNameView = z.object({
  name: z.string().describe("The tool name that the given name becomes."),
  available: z.boolean(),
  suggestion: z.string().describe("The name that the hub would assign: the next free one."),
});

const MAX_TRIED = 100;

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
        .describe("The flow of the node: its own names count as free."),
    }),
    response: { status: 200, schema: toolNameView },
    async handle({ tenant, param, query }) {
      const app = param("app");
      if (!(await store.getApp(tenant, app)))
        throw new RequestError("not_found", "app", `There is no app ${app}.`);
      const name = toolName(query.name);
      const isFree = async (tried: string) => {
        const owner = await store.findToolOwner(tenant, app, tried, now());
        return owner === undefined || owner === query.flow;
      };
      const available = await isFree(name);
      let nth = 1;
      while (nth < MAX_TRIED && !(await isFree(numberedName(name, nth)))) nth += 1;
      return { json: { name, available, suggestion: numberedName(name, nth) } };
    },
  }),
];
