import type { Source, SourceKind } from "@signalbox/contract";
import { EVERY_TENANT, LOCAL_TENANT } from "@signalbox/contract/scopes.ts";
import { GRACE_HOURS, MAX_GRACE_HOURS } from "@signalbox/contract/sources.ts";
import { readSecret } from "@signalbox/rules/settings.ts";
import { describeAddedSource } from "./added-source.ts";
import {
  actionOf,
  asString,
  assertNoMoreArguments,
  type Command,
  listOf,
  numberOf,
  type Parsed,
  print,
  table,
  UsageError,
} from "./command.ts";
import { type HubClient, HubRequestFailed } from "./hub-client.ts";
import { program } from "./program.ts";
import { sameHubFlags } from "./same-hub-flags.ts";
import type { ClientSettings } from "./settings.ts";
import { bold, dim, green } from "./style.ts";
import { type OpenSession, type Session, type WithHubOptions, withHub } from "./with-hub.ts";

const SECRET_VARIABLE = "SIGNALBOX_SOURCE_SECRET";

/** The kinds of sources that a program knows without asking a hub. */
export type KnownKinds = readonly Pick<SourceKind, "id" | "title" | "secret">[];

export const createSource = (openSession: OpenSession, knownKinds?: KnownKinds): Command => ({
  name: "source",
  usage: "add KIND [NAME] | list | rotate ID | remove ID [options]",
  summary: "manage webhook endpoints with a key and their own secrets",
  details:
    "KIND is the source of the webhooks, such as github or stripe.\n" +
    "`rotate` adds a secret. The old secrets stay valid for --grace hours, so that you can change the sender.\n" +
    `The secret is read from the environment variable ${SECRET_VARIABLE}; if unset, one is generated and printed once.`,
  options: {
    config: {
      type: "string",
      value: "JSON",
      help: 'the options of the endpoint, such as {"header":"x-signature"} for the kind generic',
    },
    tenant: {
      type: "string",
      value: "ID",
      help: "the tenant that owns the events (with one tenant: local)",
    },
    grace: {
      type: "string",
      value: "HOURS",
      help: "with rotate: the number of hours for which the old secrets stay valid (24)",
    },
    json: { type: "boolean", help: "print JSON" },
  },
  settings: ["url", "token", "data"],
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
    if (tenants && tenants.length > 1)
      throw new UsageError(`--tenant must be one id, but is "${tenants.join(",")}".`);
    await action({
      session: openSession(flags),
      knownKinds,
      flags,
      argument,
      name,
      tenant: tenants?.[0],
      graceHours,
    });
  },
});

interface Options {
  session: Session;
  knownKinds: KnownKinds | undefined;
  flags: Parsed["flags"];
  /** KIND for `add`; ID for `rotate` and `remove`. */
  argument: string | undefined;
  name: string | undefined;
  tenant: string | undefined;
  graceHours: number;
}

/** Without --tenant, an endpoint is found in all tenants, because the ids of endpoints are unique. */
const inAllTenants = ({ tenant }: Options): WithHubOptions => ({
  create: false,
  chooseTenant: (tenancy) => tenant ?? (tenancy && EVERY_TENANT),
});

function add(options: Options): Promise<void> {
  const { session, flags, argument, name, tenant, knownKinds } = options;
  const { settings } = session;
  const known = knownKinds && findKind(knownKinds, argument);
  const chooseTenant: WithHubOptions["chooseTenant"] = (tenancy) => {
    if (tenant === undefined && tenancy === "github")
      throw new UsageError(
        "Missing option: name the owner of the events with --tenant ACCOUNT_ID.",
      );
    return tenant ?? (tenancy === "single" ? LOCAL_TENANT : undefined);
  };
  const body = {
    name,
    config: parseConfig(asString(flags.config)),
    secret: readSecret(process.env, SECRET_VARIABLE),
  };
  return withHub(session, { create: true, chooseTenant }, async (hub) => {
    const kind = known ?? findKind((await hub.get("/api/source-kinds")).items, argument);
    const created = await hub
      .post("/api/sources", { body: { kind: kind.id, ...body } })
      .catch(rethrowAsUsageError);
    const { id, url, secret } = created;
    if (flags.json) return print(JSON.stringify({ id, url, secret }));
    const rotateCommand = `${program} source rotate ${id} --grace 0${sameHubFlags(settings)}`;
    print(
      describeAddedSource({
        kind,
        id,
        name: created.name,
        url,
        generatedSecret: secret,
        sendCommand: sendCommandOf(created, settings),
        rotateCommand,
        acceptsUnsigned: await acceptsUnsignedWebhooks(hub),
      }),
    );
  });
}

/**
 * Returns false if no hub is running. A running hub has decided this at its start, when it did not have the
 * secret of the new endpoint.
 */
async function acceptsUnsignedWebhooks(hub: HubClient): Promise<boolean> {
  try {
    return (await hub.get("/api/hub")).accepts_unsigned;
  } catch (error) {
    if (error instanceof HubRequestFailed) return false;
    throw error;
  }
}

/** Returns the command that sends a sample to this endpoint, for the same terminal. */
function sendCommandOf({ kind, id, tenant }: Source, settings: ClientSettings): string {
  const tenantFlag = tenant === LOCAL_TENANT ? "" : ` --tenant ${tenant}`;
  return `${program} send ${kind} --endpoint ${id}${tenantFlag}${sameHubFlags(settings)}`;
}

function parseConfig(json: string | undefined): unknown {
  if (json === undefined) return undefined;
  try {
    return JSON.parse(json);
  } catch {
    throw new UsageError(`--config must be JSON, but is "${json}".`);
  }
}

function findKind(kinds: KnownKinds, id: string | undefined): KnownKinds[number] {
  const kind = kinds.find((candidate) => candidate.id === id);
  if (kind) return kind;
  throw new UsageError(
    `Missing or unknown KIND. Known kinds: ${kinds.map(({ id }) => id).join(", ")}.`,
  );
}

/** The fields of the request come from the command line, so an invalid field is a usage error. */
function rethrowAsUsageError(error: unknown): never {
  const invalid =
    error instanceof HubRequestFailed && error.code === "invalid"
      ? error.problem.errors?.[0]
      : undefined;
  if (!invalid) throw error;
  throw new UsageError(`--${invalid.path.replace(".", ": ")}: ${invalid.message}`);
}

const list = (options: Options): Promise<void> =>
  withHub(options.session, inAllTenants(options), async (hub) => {
    const { items } = await hub.get("/api/sources");
    if (options.flags.json) return print(JSON.stringify(items.map(withMilliseconds)));
    if (items.length === 0)
      return print(
        `No endpoints with a key. Add one with \`${program} source add KIND${sameHubFlags(options.session.settings)}\`.`,
      );
    print(
      table([
        ["ID", "KIND", "NAME", "TENANT", "SECRETS", "URL"],
        ...items.map((item) => [
          item.id,
          item.kind,
          item.name,
          item.tenant,
          String(item.secrets.length),
          item.url,
        ]),
      ]),
    );
  });

const toMs = (time: string | null): number | null => (time === null ? null : Date.parse(time));

/** For `--json`: times in milliseconds, and the key, which is the last part of the URL. */
const withMilliseconds = ({ secrets, created_at, ...rest }: Source) => ({
  ...rest,
  key: rest.url.split("/").at(-1),
  created_at: toMs(created_at),
  secrets: secrets.map((secret) => ({
    ...secret,
    created_at: toMs(secret.created_at),
    expires_at: toMs(secret.expires_at),
  })),
});

function rotate(options: Options): Promise<void> {
  const { session, flags, argument: id = "", graceHours } = options;
  const secret = readSecret(process.env, SECRET_VARIABLE);
  return withHub(session, inAllTenants(options), async (hub) => {
    const body = { rotate: { secret, grace_hours: graceHours } };
    const rotated = await hub
      .patch("/api/sources/:source", { ...paramsOf(id), body })
      .catch(explainUnknownId(session.settings));
    const generatedSecret = rotated.secret;
    // The old secrets expire at this time, or earlier.
    const lastExpiry = Math.max(...rotated.secrets.map(({ expires_at }) => toMs(expires_at) ?? 0));
    if (flags.json)
      return print(JSON.stringify({ id, secret: generatedSecret, oldUntil: lastExpiry }));
    print(
      `${green("✓")} ${generatedSecret ? `new secret ${bold(generatedSecret)}` : "added the secret from the environment"}`,
    );
    print(dim(`  The old secrets expire at ${new Date(lastExpiry).toISOString()}, or earlier.`));
  });
}

function remove(options: Options): Promise<void> {
  const { session, flags, argument: id = "" } = options;
  return withHub(session, inAllTenants(options), async (hub) => {
    await hub
      .delete("/api/sources/:source", paramsOf(id))
      .catch(explainUnknownId(session.settings));
    if (flags.json) return print(JSON.stringify({ id, removed: true }));
    print(`${green("✓")} removed; its events are kept`);
  });
}

/** Replaces an empty id with "-", which is no id. Otherwise, the path would be that of the list. */
const paramsOf = (id: string) => ({ params: { source: id || "-" } });

const explainUnknownId =
  (settings: ClientSettings) =>
  (error: unknown): never => {
    if (!(error instanceof HubRequestFailed) || error.status !== 404) throw error;
    throw new UsageError(
      `Missing or unknown ID. \`npx @signalbox/cli source list${sameHubFlags(settings)}\` shows the ids.`,
    );
  };
