import { createIds } from "../../lib/ids.ts";
import type { Scope, Store } from "../../store/store.ts";
import { LOCAL_TENANT } from "../../tenants/tenancy.ts";
import { createToken, EVERY_TENANT, MAX_DAYS, scopes, tenantsError } from "../../tenants/tokens.ts";
import { loadSettings } from "../node/load-settings.ts";
import {
  assertNoMoreArguments,
  type Command,
  listOf,
  numberOf,
  print,
  table,
  UsageError,
} from "./command.ts";
import { bold, dim, green } from "./style.ts";
import { withStore } from "./with-store.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

export const token: Command = {
  name: "token",
  usage: "create NAME | list | revoke ID [options]",
  summary: "create, list and revoke access tokens",
  details: "A token is shown once, when it is created; the hub stores only its SHA-256 hash.",
  options: {
    scope: {
      type: "string",
      value: "LIST",
      help: `comma-separated list of ${scopes.join(", ")} (inbox:read,inbox:write)`,
    },
    tenant: {
      type: "string",
      value: "LIST",
      help: "the tenants that it may access (single: local; github: account ids, or * for all)",
    },
    days: { type: "string", value: "N", help: `days until it expires, up to ${MAX_DAYS} (never)` },
    json: { type: "boolean", help: "print JSON" },
  },
  settings: ["data", "databaseUrl", "tenancy"],
  async run({ positionals, flags }) {
    const [action, ...rest] = positionals;
    const run = { create, list, revoke }[action ?? ""];
    if (!run) throw new UsageError("Missing action: create NAME, list, or revoke ID.");
    assertNoMoreArguments(rest.slice(run === list ? 0 : 1));
    const settings = loadSettings(flags);
    await withStore(settings, { create: run === create }, (store) =>
      run(store, rest[0], flags, settings.tenancy),
    );
  },
};

type Action = (
  store: Store,
  argument: string | undefined,
  flags: Record<string, string | boolean | undefined>,
  tenancy: "single" | "github",
) => Promise<void>;

const create: Action = async (store, name, flags, tenancy) => {
  if (!name)
    throw new UsageError("Missing argument NAME, such as in `signalbox token create laptop`.");
  const granted = listOf(flags, "scope") ?? ["inbox:read", "inbox:write"];
  for (const scope of granted)
    if (!scopes.includes(scope as Scope))
      throw new UsageError(`Unknown scope "${scope}". Known scopes: ${scopes.join(", ")}.`);
  const tenants = listOf(flags, "tenant");
  if (!tenants && tenancy === "github")
    throw new UsageError(
      `Missing option: name the tenant with --tenant ACCOUNT_ID, or --tenant ${EVERY_TENANT} for all.`,
    );
  const error = tenants && tenantsError(tenants);
  if (error) throw new UsageError(`--tenant ${error}.`);
  const days = numberOf(
    flags,
    "days",
    (value) => value > 0 && value <= MAX_DAYS,
    `a number above 0, at most ${MAX_DAYS}`,
  );
  const id = createIds()();
  const now = Date.now();
  const secret = await createToken(store, {
    id,
    name,
    scopes: granted as Scope[],
    tenants: tenants ?? [LOCAL_TENANT],
    expiresAt: days === undefined ? null : now + Math.ceil(days * DAY_MS),
    now,
  });
  if (flags.json) return print(JSON.stringify({ id, name, scopes: granted, token: secret }));
  print(`${green("✓")} ${bold(secret)}`);
  print(
    dim(
      `  ${name} (${granted.join(", ")}); shown once. Revoke it with: signalbox token revoke ${id}`,
    ),
  );
};

const list: Action = async (store, _, flags) => {
  const tokens = (await store.listTokens()).map(({ hash: _, ...rest }) => rest);
  if (flags.json) return print(JSON.stringify(tokens));
  if (tokens.length === 0)
    return print("No tokens. Create one with `signalbox token create NAME`.");
  const day = (ms: number | null) =>
    ms === null ? "never" : new Date(ms).toISOString().slice(0, 10);
  print(
    table([
      ["ID", "NAME", "SCOPES", "TENANTS", "CREATED", "EXPIRES", "STATE"],
      ...tokens.map((one) => [
        one.id,
        one.name,
        one.scopes.join(","),
        one.tenants.join(","),
        day(one.created_at),
        day(one.expires_at),
        one.revoked_at
          ? "revoked"
          : one.expires_at !== null && one.expires_at < Date.now()
            ? "expired"
            : "active",
      ]),
    ]),
  );
};

const revoke: Action = async (store, id, flags) => {
  if (!id) throw new UsageError("Missing argument ID. `signalbox token list` shows the ids.");
  if (!(await store.revokeToken(id, Date.now())))
    throw new UsageError(
      `No active token has the id ${id}. \`signalbox token list\` shows the ids.`,
    );
  if (flags.json) return print(JSON.stringify({ id, revoked: true }));
  print(`${green("✓")} revoked ${id}`);
};
