/** Apps: each is served as one MCP server. */

import { appSchema } from "@signalbox/rules/flows/model.ts";
import { z } from "zod";
import { cursorFor, limitQuery, pageOf, time } from "./paging.ts";
import { route } from "./route.ts";
export const appView = z.object({
  slug: z.string(),
  name: z.string(),
  description: z.string(),
  mcp_path: z.string().describe("The path of the app's MCP server."),
  created_at: time,
  updated_at: time,
});
export type App = z.output<typeof appView>;

const tag = "apps";

export const appCursors = cursorFor("app");

export const appChange = z.strictObject({
  name: appSchema.shape.name.optional(),
  description: appSchema.shape.description.unwrap().optional(),
});

export const toolNameView = z.object({
  name: z.string().describe("The tool name that is derived from the requested name."),
  available: z.boolean(),
  suggestion: z.string().describe("The next free name, which the hub would assign."),
});
export type ToolNameView = z.output<typeof toolNameView>;

export const appApi = {
  list: route({
    method: "get",
    path: "/api/apps",
    summary: "List apps",
    tag,
    scope: "admin",
    query: z.strictObject({ limit: limitQuery, cursor: appCursors.query }),
    response: { status: 200, schema: pageOf(appView) },
  }),
  create: route({
    method: "post",
    path: "/api/apps",
    summary: "Create an app. If the slug is omitted, it is derived from the name",
    tag,
    scope: "admin",
    body: appSchema.partial({ slug: true }),
    response: { status: 201, schema: appView },
  }),
  get: route({
    method: "get",
    path: "/api/apps/:app",
    summary: "Get an app",
    tag,
    scope: "admin",
    response: { status: 200, schema: appView },
  }),
  change: route({
    method: "patch",
    path: "/api/apps/:app",
    summary: "Change an app's name or description",
    tag,
    scope: "admin",
    body: appChange,
    response: { status: 200, schema: appView },
  }),
  remove: route({
    method: "delete",
    path: "/api/apps/:app",
    summary: "Delete an app with its flows",
    tag,
    scope: "admin",
    response: { status: 204 },
  }),
};

export const toolNameApi = {
  suggest: route({
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
  }),
};
