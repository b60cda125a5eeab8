import type { HubInfo } from "../../api/hub-info.ts";
import { sources } from "../../ingest/sources/index.ts";
import { GRACE_HOURS, MAX_GRACE_HOURS } from "../../tenants/sources.ts";
import { LOCAL_TENANT } from "../../tenants/tenancy.ts";
import { EVERY_TENANT } from "../../tenants/tokens.ts";
import { loadSettings } from "../node/load-settings.ts";
import { readSecret, type Settings } from "../settings.ts";
import { describeAdded } from "./added-source.ts";
import {
  actionOf,
  assertNoMoreArguments,
  type Command,
  listOf,
  numberOf,
  type Parsed,
  print,
  table,
  text,
  UsageError,
} from "./command.ts";
import { type HubClient, HubRequestFailed } from "./hub-client.ts";
import { program } from "./program.ts";
import { sameHubFlags } from "./same-hub-flags.ts";
import { bold, dim, green } from "./style.ts";
import { type WithHubOptions, withHub } from "./with-hub.ts";

const SECRET_VARIABLE = "SIGNALBOX_SOURCE_SECRET";

export const source: Command = {
  name: "source",
  usage: "add KIND [NAME] | list | rotate ID | remove ID [options]",
  summary: "manage webhook endpoints with a key and their own secrets",
  details:
    "`rotate` adds a secret. The old secrets stay valid for --grace hours, so that you can change the sender.\n" +
    `The secret is read from the environment variable ${SECRET_VARIABLE}; if unset, one is generated and printed once.`,
  options: {
    config: {
      type: "string",
      value: "JSON",
      help: 'options of the kind, such as {"header":"x-signature"} for generic',
    },
    tenant: {
      type: "string",
      value: "ID",
      help: "the tenant that owns the events (single: local)",
    },
    grace: {
      type: "string",
      value: "HOURS",
      help: "with rotate: how long the old secrets stay valid (24)",
    },
    json: { type: "boolean", help: "print JSON" },
  },
  settings: ["url", "token", "data", "databaseUrl", "key", "tenancy", "host", "port", "publicUrl"],
  async run({ positionals, flags }) {
    const [actionName, ...rest] = positionals;
    const action = actionOf(
      { add, list, rotate, remove },
      actionName,
      "add KIND, list, rotate ID, or remove ID",
    );
    assertNoMoreArguments(rest.slice(action === list ? 0 : action === add ? 2 : 1));
    const [argument, name] = rest;
    const graceHours =
      numberOf(
        flags,
        "grace",
        (value) => value >= 0 && value <= MAX_GRACE_HOURS,
        `a number from 0 to ${MAX_GRACE_HOURS}, in hours`,
      ) ?? GRACE_HOURS;
    const tenants = listOf(flags, "tenant");
    if (tenants && tenants.length > 1) throw new UsageError("--tenant must be one id.");
    await action({
      settings: loadSettings(flags),
      flags,
      argument,
      name,
      tenant: tenants?.[0],
      graceHours,
    });
  },
};

interface Options {
  settings: Settings;
  flags: Parsed["flags"];
  argument: string | undefined;
  name: string | undefined;
  tenant: string | undefined;
  graceHours: number;
}

interface SourceView {
  id: string;
  tenant: string;
  kind: string;
  name: string;
  url: string;
  config: Record<string, unknown>;
  secrets: { id: string; created_at: string; expires_at: string | null }[];
  created_at: string;
}
type WithSecret = SourceView & { secret?: string };

const PATH = "/api/sources";

/** For actions on any endpoint: their ids are unique. */
const inAllTenants = ({ tenant }: Options): WithHubOptions => ({
  create: false,
  tenantIn: (tenancy) => tenant ?? (tenancy && EVERY_TENANT),
});

function add({ settings, flags, argument: kind, name, tenant }: Options): Promise<void> {
  const definition = sources.find(({ id }) => id === kind);
  if (!definition)
    throw new UsageError(
      `Missing or unknown KIND. Known kinds: ${sources.map(({ id }) => id).join(", ")}.`,
    );
  const tenantIn: WithHubOptions["tenantIn"] = (tenancy) => {
    if (tenant === undefined && tenancy === "github")
      throw new UsageError(
        "Missing option: name the owner of the events with --tenant ACCOUNT_ID.",
      );
    return tenant ?? (tenancy === "single" ? LOCAL_TENANT : undefined);
  };
  const body = {
    kind,
    name,
    config: parseConfig(text(flags.config)),
    secret: readSecret(process.env, SECRET_VARIABLE),
  };
  return withHub(settings, { create: true, tenantIn }, async (hub) => {
    const created = await hub.request<WithSecret>("POST", PATH, { body }).catch(asUsage);
    const { id, url, secret } = created;
    if (flags.json) return print(JSON.stringify({ id, url, secret }));
    const send = sendCommand(created, settings);
    const rotate = `${program} source rotate ${id} --grace 0${sameHubFlags(settings)}`;
    const acceptsUnsigned = await stillAcceptsUnsigned(hub);
    print(
      describeAdded({ definition, ...created, generated: secret, send, rotate, acceptsUnsigned }),
    );
  });
}

/** False if no hub is running. The hub decides at its start, before it had the secret of this endpoint. */
async function stillAcceptsUnsigned(hub: HubClient): Promise<boolean> {
  try {
    return (await hub.request<HubInfo>("GET", "/api/hub")).accepts_unsigned;
  } catch (error) {
    if (error instanceof HubRequestFailed) return false;
    throw error;
  }
}

/** The command that sends a sample to this endpoint, from the same terminal. */
function sendCommand({ kind, id, tenant }: SourceView, settings: Settings): string {
  const owner = tenant === LOCAL_TENANT ? "" : ` --tenant ${tenant}`;
  return `${program} send ${kind} --endpoint ${id}${owner}${sameHubFlags(settings)}`;
}

function parseConfig(given: string | undefined): unknown {
  if (given === undefined) return undefined;
  try {
    return JSON.parse(given);
  } catch {
    throw new UsageError("--config must be JSON.");
  }
}

/** An invalid field of the request is an invalid option. */
function asUsage(error: unknown): never {
  const invalid =
    error instanceof HubRequestFailed && error.code === "invalid"
      ? error.problem.errors?.[0]
      : undefined;
  if (!invalid) throw error;
  throw new UsageError(`--${invalid.path.replace(".", ": ")}: ${invalid.message}`);
}

const list = (options: Options): Promise<void> =>
  withHub(options.settings, inAllTenants(options), async (hub) => {
    const { items } = await hub.request<{ items: SourceView[] }>("GET", PATH);
    if (options.flags.json) return print(JSON.stringify(items.map(withNumbers)));
    if (items.length === 0)
      return print(
        `No endpoints with a key. Add one with \`${program} source add KIND${sameHubFlags(options.settings)}\`.`,
      );
    print(
      table([
        ["ID", "KIND", "NAME", "TENANT", "SECRETS", "URL"],
        ...items.map((one) => [
          one.id,
          one.kind,
          one.name,
          one.tenant,
          String(one.secrets.length),
          one.url,
        ]),
      ]),
    );
  });

const toMs = (at: string | null): number | null => (at === null ? null : Date.parse(at));

/** `--json` prints times in milliseconds, and the key of the URL. */
const withNumbers = ({ secrets, created_at, ...rest }: SourceView) => ({
  ...rest,
  key: rest.url.split("/").at(-1),
  created_at: toMs(created_at),
  secrets: secrets.map((one) => ({
    ...one,
    created_at: toMs(one.created_at),
    expires_at: toMs(one.expires_at),
  })),
});

function rotate(options: Options): Promise<void> {
  const { settings, flags, argument: id = "", graceHours } = options;
  const secret = readSecret(process.env, SECRET_VARIABLE);
  return withHub(settings, inAllTenants(options), async (hub) => {
    const body = { rotate: { secret, grace_hours: graceHours } };
    const changed = await hub
      .request<WithSecret>("PATCH", pathOf(id), { body })
      .catch(unknownIn(settings));
    const generated = changed.secret;
    // The former secrets expire at this time, or earlier.
    const until = Math.max(...changed.secrets.map(({ expires_at }) => toMs(expires_at) ?? 0));
    if (flags.json) return print(JSON.stringify({ id, secret: generated, oldUntil: until }));
    print(
      `${green("✓")} ${generated ? `new secret ${bold(generated)}` : "added the secret from the environment"}`,
    );
    print(dim(`  The old secrets are valid until ${new Date(until).toISOString()} at most.`));
  });
}

function remove(options: Options): Promise<void> {
  const { settings, flags, argument: id = "" } = options;
  return withHub(settings, inAllTenants(options), async (hub) => {
    await hub.request("DELETE", pathOf(id)).catch(unknownIn(settings));
    if (flags.json) return print(JSON.stringify({ id, removed: true }));
    print(`${green("✓")} removed; its events are kept`);
  });
}

/** An empty id has no path: it would name the list. */
const pathOf = (id: string) => `${PATH}/${encodeURIComponent(id) || "-"}`;

const unknownIn =
  (settings: Settings) =>
  (error: unknown): never => {
    if (!(error instanceof HubRequestFailed) || error.status !== 404) throw error;
    throw new UsageError(
      `Missing or unknown ID. \`npx signalbox source list${sameHubFlags(settings)}\` shows the ids.`,
    );
  };
