/** Lists the settings with which the hub was started. */
import { settingApi, type settingView } from "@signalbox/contract/settings.ts";
import type { z } from "zod";
import { assertForAllTenants } from "../kernel/access/authorizer.ts";
import type { TokenLookup } from "../kernel/access/scopes.ts";
import { implement, type Route } from "../kernel/http/route.ts";
export type EffectiveSetting = z.output<typeof settingView>;

export const settingsRoutes = (
  settings: readonly EffectiveSetting[],
  tokens: TokenLookup,
): Route[] => [
  implement(settingApi.list, async ({ access }) => {
    await assertForAllTenants(tokens, access);
    return { json: { items: settings } };
  }),
];
