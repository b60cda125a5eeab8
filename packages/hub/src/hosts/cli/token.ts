import type { Scope } from "../../store/store.ts";
import { LOCAL_TENANT } from "../../tenants/tenancy.ts";
import {
  DEFAULT_SCOPES,
  EVERY_TENANT,
  MAX_DAYS,
  scopes,
  tenantsError,
  unknownTenantError,
} from "../../tenants/tokens.ts";
import { loadSettings } from "../node/load-settings.ts";
import type { Settings } from "../settings.ts";
import { allPages } from "./all-pages.ts";
import {
  actionOf,
  assertNoMoreArguments,
  type Command,
  listOf,
  numberOf,
  type Parsed,
  print,
  table,
  UsageError,
} from "./command.ts";
import { HubRequestFailed } from "./hub-client.ts";
import { program } from "./program.ts";
import { sameHubFlags } from "./same-hub-flags.ts";
import { bold, dim, green } from "./style.ts";
import { type WithHubOptions, withHub } from "./with-hub.ts";

export const token: Command = {
  name: "token",
  usage: "create NAME | list | revoke ID [options]",
  summary: "create, list and revoke access tokens",
  details: "A token is shown once, when it is created; the hub stores only its SHA-256 hash.",
  options: {
    scope: {
      type: "string",
      value: "LIST",
      help: `comma-separated list of ${scopes.join(", ")} (${DEFAULT_SCOPES.join(",")})`,
    },
    tenant: {
      type: "string",
      value: "LIST",
      help: "the tenants that it may access (single: local; github: account ids, or * for all)",
    },
    days: { type: "string", value: "N", help: `days until it expires, up to ${MAX_DAYS} (never)` },
    json: { type: "boolean", help: "print JSON" },
  },
  settings: ["url", "token", "data", "databaseUrl", "tenancy"],
  async run({ positionals, flags }) {
    const [name, ...rest] = positionals;
    const action = actionOf({ create, list, revoke }, name, "create NAME, list, or revoke ID");
    assertNoMoreArguments(rest.slice(action === list ? 0 : 1));
    await action(loadSettings(flags), rest[0], flags);
  },
};

type Action = (
  settings: Settings,
  argument: string | undefined,
  flags: Parsed["flags"],
) => Promise<void>;

interface TokenView {
  id: string;
  name: string;
  scopes: Scope[];
  tenants: string[];
  created_at: string;
  expires_at: string | null;
  revoked_at: string | null;
}

const create: Action = async (settings, name, flags) => {
  if (!name)
    throw new UsageError("Missing argument NAME, such as in `npx signalbox token create laptop`.");
  const granted = listOf(flags, "scope") ?? DEFAULT_SCOPES;
  for (const scope of granted)
    if (!scopes.includes(scope as Scope))
      throw new UsageError(`Unknown scope "${scope}". Known scopes: ${scopes.join(", ")}.`);
  const tenants = listOf(flags, "tenant");
  const tenantIn: WithHubOptions["tenantIn"] = (tenancy) => {
    if (!tenants && tenancy === "github")
      throw new UsageError(
        `Missing option: name the tenant with --tenant ACCOUNT_ID, or --tenant ${EVERY_TENANT} for all.`,
      );
    const unknown = tenants && tenancy === "single" && unknownTenantError(tenants);
    if (unknown) throw new UsageError(`--tenant ${unknown}.`);
    return tenants?.[0] ?? (tenancy === "single" ? LOCAL_TENANT : undefined);
  };
  const error = tenants && tenantsError(tenants);
  if (error) throw new UsageError(`--tenant ${error}.`);
  const days = numberOf(
    flags,
    "days",
    (value) => value > 0 && value <= MAX_DAYS,
    `a number above 0, at most ${MAX_DAYS}`,
  );
  await withHub(settings, { create: true, tenantIn }, async (hub) => {
    const body = { name, scopes: granted, tenants, days };
    const { id, token: secret } = await hub.request<TokenView & { token: string }>(
      "POST",
      "/api/tokens",
      { body },
    );
    if (flags.json) return print(JSON.stringify({ id, name, scopes: granted, token: secret }));
    print(`${green("✓")} ${bold(secret)}`);
    print(
      dim(
        `  ${name} (${granted.join(", ")}); shown once. Revoke it with: ${program} token revoke ${id}${sameHubFlags(settings)}`,
      ),
    );
  });
};

const ofAllTenants: WithHubOptions["tenantIn"] = (tenancy) => tenancy && EVERY_TENANT;

const list: Action = (settings, _, flags) =>
  withHub(settings, { create: false, tenantIn: ofAllTenants }, async (hub) => {
    const items = (await allPages<TokenView>(hub, "/api/tokens")).toReversed();
    if (flags.json) return print(JSON.stringify(items.map(withNumbers)));
    if (items.length === 0)
      return print(
        `No tokens. Create one with \`${program} token create NAME${sameHubFlags(settings)}\`.`,
      );
    const day = (at: string | null) => at?.slice(0, 10) ?? "never";
    print(
      table([
        ["ID", "NAME", "SCOPES", "TENANTS", "CREATED", "EXPIRES", "STATE"],
        ...items.map((one) => [
          one.id,
          one.name,
          one.scopes.join(","),
          one.tenants.join(","),
          day(one.created_at),
          day(one.expires_at),
          one.revoked_at
            ? "revoked"
            : one.expires_at !== null && Date.parse(one.expires_at) < Date.now()
              ? "expired"
              : "active",
        ]),
      ]),
    );
  });

/** `--json` prints times in milliseconds. */
const withNumbers = ({ created_at, expires_at, revoked_at, ...rest }: TokenView) => ({
  ...rest,
  created_at: Date.parse(created_at),
  expires_at: expires_at && Date.parse(expires_at),
  revoked_at: revoked_at && Date.parse(revoked_at),
});

const revoke: Action = (settings, id, flags) => {
  const shown = `\`npx signalbox token list${sameHubFlags(settings)}\` shows the ids.`;
  if (!id) throw new UsageError(`Missing argument ID. ${shown}`);
  return withHub(settings, { create: false, tenantIn: ofAllTenants }, async (hub) => {
    try {
      await hub.request("DELETE", `/api/tokens/${encodeURIComponent(id)}`);
    } catch (error) {
      if (!(error instanceof HubRequestFailed) || error.status !== 404) throw error;
      throw new UsageError(`No active token has the id ${id}. ${shown}`);
    }
    if (flags.json) return print(JSON.stringify({ id, revoked: true }));
    print(`${green("✓")} revoked ${id}`);
  });
};
