import type { Token } from "@signalbox/contract";
import {
  DEFAULT_SCOPES,
  ENV_ID_PREFIX,
  EVERY_TENANT,
  LOCAL_TENANT,
  SCOPES,
  type Scope,
  tenantsError,
  unknownTenantError,
} from "@signalbox/contract/scopes.ts";
import { MAX_DAYS } from "@signalbox/contract/tokens.ts";
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
import { type OpenSession, type Session, type WithHubOptions, withHub } from "./with-hub.ts";

export const createToken = (openSession: OpenSession): Command => ({
  name: "token",
  usage: "create NAME | list | revoke ID [options]",
  summary: "create, list and revoke access tokens",
  details: "A token is shown once, when it is created; the hub stores only its SHA-256 hash.",
  options: {
    scope: {
      type: "string",
      value: "LIST",
      help: `the scopes, separated by commas: ${SCOPES.join(", ")} (${DEFAULT_SCOPES.join(",")})`,
    },
    tenant: {
      type: "string",
      value: "LIST",
      help: "the tenants that the token may access, separated by commas, or * for all (with one tenant: local)",
    },
    days: {
      type: "string",
      value: "N",
      help: `days until the token expires, up to ${MAX_DAYS} (never)`,
    },
    json: { type: "boolean", help: "print JSON" },
  },
  settings: ["url", "token", "data"],
  async run({ positionals, flags }) {
    const [actionName, argument, ...rest] = positionals;
    const actions = { create, list, revoke };
    const action = actionOf(actions, actionName, "create NAME, list, or revoke ID");
    assertNoMoreArguments(action === list && argument !== undefined ? [argument, ...rest] : rest);
    await action(openSession(flags), argument, flags);
  },
});

type Action = (
  session: Session,
  /** NAME for `create`; ID for `revoke`. */
  argument: string | undefined,
  flags: Parsed["flags"],
) => Promise<void>;

const create: Action = async (session, name, flags) => {
  const { settings } = session;
  if (!name)
    throw new UsageError(
      "Missing argument NAME, such as in `npx @signalbox/cli token create laptop`.",
    );
  const requested = listOf(flags, "scope") ?? DEFAULT_SCOPES;
  const granted = requested.map(scopeOf);
  const tenants = listOf(flags, "tenant");
  const chooseTenant: WithHubOptions["chooseTenant"] = (tenancy) => {
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
  await withHub(session, { create: true, chooseTenant }, async (hub) => {
    const body = { name, scopes: granted, tenants, days };
    const created = await hub.post("/api/tokens", { body });
    const { id, token: secret } = created;
    if (flags.json) return print(JSON.stringify({ id, name, scopes: granted, token: secret }));
    print(`${green("✓")} ${bold(secret)}`);
    print(
      dim(
        `  ${name} (${granted.join(", ")}) for ${describeTenants(created.tenants)}; shown only once. Revoke it with: ${program} token revoke ${id}${sameHubFlags(settings)}`,
      ),
    );
  });
};

function scopeOf(name: string): Scope {
  const scope = SCOPES.find((known) => known === name);
  if (scope) return scope;
  throw new UsageError(`Unknown scope "${name}". Known scopes: ${SCOPES.join(", ")}.`);
}

const describeTenants = (tenants: readonly string[]): string =>
  tenants.includes(EVERY_TENANT)
    ? "all tenants"
    : `the ${tenants.length === 1 ? "tenant" : "tenants"} ${tenants.join(", ")}`;

const chooseAllTenants: WithHubOptions["chooseTenant"] = (tenancy) => tenancy && EVERY_TENANT;

const list: Action = (session, _, flags) =>
  withHub(session, { create: false, chooseTenant: chooseAllTenants }, async (hub) => {
    const items = (await hub.all("/api/tokens")).toReversed();
    if (flags.json) return print(JSON.stringify(items.map(withMilliseconds)));
    if (items.length === 0)
      return print(
        `No tokens. Create one with \`${program} token create NAME${sameHubFlags(session.settings)}\`.`,
      );
    const formatDay = (time: string | null) => time?.slice(0, 10) ?? "never";
    print(
      table([
        ["ID", "NAME", "SCOPES", "TENANTS", "CREATED", "EXPIRES", "STATE"],
        ...items.map((item) => [
          item.id,
          item.name,
          item.scopes.join(","),
          item.tenants.join(","),
          formatDay(item.created_at),
          formatDay(item.expires_at),
          stateOf(item),
        ]),
      ]),
    );
  });

function stateOf({ revoked_at, expires_at }: Token): string {
  if (revoked_at) return "revoked";
  return expires_at !== null && Date.parse(expires_at) < Date.now() ? "expired" : "active";
}

/** For `--json`: times in milliseconds. */
const withMilliseconds = ({ created_at, expires_at, revoked_at, ...rest }: Token) => ({
  ...rest,
  created_at: Date.parse(created_at),
  expires_at: expires_at && Date.parse(expires_at),
  revoked_at: revoked_at && Date.parse(revoked_at),
});

const revoke: Action = (session, id, flags) => {
  const { settings } = session;
  const listHint = `\`npx @signalbox/cli token list${sameHubFlags(settings)}\` shows the ids.`;
  if (!id) throw new UsageError(`Missing argument ID. ${listHint}`);
  return withHub(session, { create: false, chooseTenant: chooseAllTenants }, async (hub) => {
    try {
      await hub.delete("/api/tokens/:token", { params: { token: id } });
    } catch (error) {
      if (!(error instanceof HubRequestFailed) || error.status !== 404) throw error;
      throw new UsageError(`No active token has the id ${id}. ${listHint}`);
    }
    if (flags.json) return print(JSON.stringify({ id, revoked: true }));
    print(`${green("✓")} revoked ${id}`);
    if (id.startsWith(ENV_ID_PREFIX))
      print(
        dim(
          "  The hub got this token from SIGNALBOX_TOKEN, and a start with the same value makes it valid again. Change the setting, and restart the hub.",
        ),
      );
  });
};
