/** The settings with which the hub was started. */
import { z } from "zod";
import { listOf } from "./paging.ts";
import { route } from "./route.ts";

export const settingView = z.object({
  name: z.string().describe("The key in signalbox.config.json."),
  variable: z.string().describe("The environment variable."),
  flag: z.string().nullable(),
  value: z
    .string()
    .nullable()
    .describe("Null if the setting is not set. A secret is shown as `(set)`."),
  from: z.enum(["flag", "environment", "file", "default"]),
  help: z.string(),
});

export type Setting = z.output<typeof settingView>;

export const settingApi = {
  list: route({
    method: "get",
    path: "/api/settings",
    summary: "List the effective settings and their origins; needs a token for all tenants",
    tag: "meta",
    scope: "admin",
    isShared: true,
    response: { status: 200, schema: listOf(settingView) },
  }),
};
