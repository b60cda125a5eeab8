/** Lists the settings with which the hub was started. */
import { z } from "zod";
import { assertForAllTenants } from "../kernel/access/for-all-tenants.ts";
import type { TokenLookup } from "../kernel/access/granted-scopes.ts";
import { defineRoute, type Route } from "../kernel/http/route.ts";

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
export type EffectiveSetting = z.input<typeof settingView>;

export const settingsRoutes = (
  settings: readonly EffectiveSetting[],
  tokens: TokenLookup,
): Route[] => [
  defineRoute({
    method: "get",
    path: "/api/settings",
    summary: "List the effective settings and their origins; needs a token for all tenants",
    tag: "meta",
    scope: "admin",
    isShared: true,
    response: { status: 200, schema: z.object({ items: z.array(settingView) }) },
    async handle({ access }) {
      await assertForAllTenants(tokens, access);
      return { json: { items: settings } };
    },
  }),
];
