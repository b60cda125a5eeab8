import { createIds } from "../../lib/ids.ts";
import type { Scope, Store } from "../../store/store.ts";
import { LOCAL_TENANT } from "../../tenants/tenancy.ts";
import { createToken, EVERY_TENANT, MAX_DAYS, scopes, tenantsError } from "../../tenants/tokens.ts";
import { loadSettings } from "../node/load-settings.ts";
import { type Command, listOf, numberOf, print, refuseMore, table, UsageError } from "./command.ts";
import { bold, dim, green } from "./style.ts";
import { withStore } from "./with-store.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

export const token: Command = {
  name: "token",
  usage: "create NAME | list | revoke ID [options]",
  summary: "make, list and revoke access tokens",
  details: "A token is shown once, when it is made; the hub keeps only its SHA-256.",
  options: {
    scope: {
      type: "string",
      value: "LIST",
      help: `comma-separated, of ${scopes.join(", ")} (inbox:read,inbox:write)`,
    },
    tenant: {
      type: "string",
      value: "LIST",
      help: "whose data it opens (single: local; github: account ids, or * for all)",
    },
    days: { type: "string", value: "N", help: `days until it expires, up to ${MAX_DAYS} (never)` },
    json: { type: "boolean", help: "print JSON" },
  },
  settings: ["data", "databaseUrl", "tenancy"],
  async run({ positionals, flags }) {
    const [action, ...rest] = positionals;
    const work = { create, list, revoke }[action ?? ""];
    if (!work) throw new UsageError("Say what to do: create NAME, list, or revoke ID.");
    refuseMore(rest.slice(work === list ? 0 : 1));
    const settings = loadSettings(flags);
    await withStore(settings, { create: work === create }, (store) =>
      work(store, rest[0], flags, settings.tenancy),
    );
  },
};

type Work = (
  store: Store,
  argument: string | undefined,
  flags: Record<string, string | boolean | undefined>,
  tenancy: "single" | "github",
) => Promise<void>;

const create: Work = async (store, name, flags, tenancy) => {
  if (!name)
    throw new UsageError("Give the token a name, such as `signalbox token create laptop`.");
  const wanted = listOf(flags, "scope") ?? ["inbox:read", "inbox:write"];
  for (const scope of wanted)
    if (!scopes.includes(scope as Scope))
      throw new UsageError(`There is no scope "${scope}". Known are: ${scopes.join(", ")}.`);
  const tenants = listOf(flags, "tenant");
  if (!tenants && tenancy === "github")
    throw new UsageError(
      `Say whose data it opens: --tenant ACCOUNT_ID, or --tenant ${EVERY_TENANT} for all.`,
    );
  const fault = tenants && tenantsError(tenants);
  if (fault) throw new UsageError(`--tenant ${fault}.`);
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
    scopes: wanted as Scope[],
    tenants: tenants ?? [LOCAL_TENANT],
    expiresAt: days === undefined ? null : now + Math.ceil(days * DAY_MS),
    now,
  });
  if (flags.json) return print(JSON.stringify({ id, name, scopes: wanted, token: secret }));
  print(`${green("✓")} ${bold(secret)}`);
  print(
    dim(
      `  ${name} (${wanted.join(", ")}); shown once. Revoke it with: signalbox token revoke ${id}`,
    ),
  );
};

const list: Work = async (store, _, flags) => {
  const tokens = (await store.listTokens()).map(({ hash: _, ...rest }) => rest);
  if (flags.json) return print(JSON.stringify(tokens));
  if (tokens.length === 0)
    return print("There are no tokens. Make one with `signalbox token create NAME`.");
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

const revoke: Work = async (store, id, flags) => {
  if (!id) throw new UsageError("Which token? `signalbox token list` shows their ids.");
  if (!(await store.revokeToken(id, Date.now())))
    throw new UsageError(
      `There is no active token with the id ${id}. \`signalbox token list\` shows them.`,
    );
  if (flags.json) return print(JSON.stringify({ id, revoked: true }));
  print(`${green("✓")} revoked ${id}`);
};
