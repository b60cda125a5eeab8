import { sources } from "../../ingest/sources/index.ts";
import { createIds } from "../../lib/ids.ts";
import { RequestError } from "../../lib/request-error.ts";
import { createSeal } from "../../lib/seal.ts";
import type { Source, Store } from "../../store/store.ts";
import { createSources, GRACE_HOURS, MAX_GRACE_HOURS, webhookPath } from "../../tenants/sources.ts";
import { LOCAL_TENANT } from "../../tenants/tenancy.ts";
import { loadSettings } from "../node/load-settings.ts";
import { sealKey } from "../node/seal-key.ts";
import { localUrl, readSecret, type Settings } from "../settings.ts";
import {
  assertNoMoreArguments,
  type Command,
  listOf,
  numberOf,
  print,
  table,
  text,
  UsageError,
} from "./command.ts";
import { bold, dim, green } from "./style.ts";
import { withStore } from "./with-store.ts";

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
  settings: ["data", "databaseUrl", "key", "tenancy", "host", "port", "publicUrl"],
  async run({ positionals, flags }) {
    const [actionName, ...rest] = positionals;
    const action = { add, list, rotate, remove }[actionName ?? ""];
    if (!action) throw new UsageError("Missing action: add KIND, list, rotate ID, or remove ID.");
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
    const settings = loadSettings(flags);
    await withStore(settings, { create: action === add }, (store) =>
      action({ store, settings, flags, argument, name, tenant: tenants?.[0], graceHours }),
    );
  },
};

interface Options {
  store: Store;
  settings: Settings;
  flags: Record<string, string | boolean | undefined>;
  argument: string | undefined;
  name: string | undefined;
  tenant: string | undefined;
  graceHours: number;
}

const urlOf = (settings: Settings, source: Pick<Source, "kind" | "key">) =>
  `${(settings.publicUrl ?? localUrl(settings)).replace(/\/$/, "")}${webhookPath(source)}`;

const sourcesIn = ({ store, settings }: Options) =>
  createSources({
    store,
    seal: createSeal(sealKey(settings.key, settings.data)),
    newId: createIds(),
    now: Date.now,
  });

async function add(options: Options): Promise<void> {
  const { settings, flags, argument: kind, name } = options;
  if (!sources.some(({ id }) => id === kind))
    throw new UsageError(
      `Missing or unknown KIND. Known kinds: ${sources.map(({ id }) => id).join(", ")}.`,
    );
  const tenant = options.tenant ?? (settings.tenancy === "single" ? LOCAL_TENANT : undefined);
  if (!tenant)
    throw new UsageError("Missing option: name the owner of the events with --tenant ACCOUNT_ID.");
  const { source: created, generated: secret } = await sourcesIn(options)
    .add({
      tenant,
      kind: kind ?? "",
      name,
      config: parseConfig(text(flags.config)),
      secret: readSecret(process.env, SECRET_VARIABLE),
    })
    .catch(asUsage);
  if (flags.json)
    return print(JSON.stringify({ id: created.id, url: urlOf(settings, created), secret }));
  print(`${green("✓")} ${created.name}`);
  print(
    table([
      ["  URL", bold(urlOf(settings, created))],
      ["  Secret", secret ? bold(secret) : "from the environment"],
      ["  Id", created.id],
    ]),
  );
  print(
    dim(
      `${secret ? "  The secret is shown once. " : "  "}A running hub accepts the endpoint within five seconds.`,
    ),
  );
}

function parseConfig(given: string | undefined): unknown {
  if (given === undefined) return undefined;
  try {
    return JSON.parse(given);
  } catch {
    throw new UsageError("--config must be JSON.");
  }
}

function asUsage(error: unknown): never {
  if (!(error instanceof RequestError)) throw error;
  throw new UsageError(`--${error.field.replace(".", ": ")}: ${error.message}`);
}

async function list({ store, settings, flags }: Options): Promise<void> {
  const found = await store.listSources();
  const shown = found.map(({ secrets, ...rest }) => ({
    ...rest,
    url: urlOf(settings, rest),
    secrets: secrets.map(({ sealed: _, ...secret }) => secret),
  }));
  if (flags.json) return print(JSON.stringify(shown));
  if (found.length === 0)
    return print("No endpoints with a key. Add one with `signalbox source add KIND`.");
  print(
    table([
      ["ID", "KIND", "NAME", "TENANT", "SECRETS", "URL"],
      ...shown.map((one) => [
        one.id,
        one.kind,
        one.name,
        one.tenant,
        String(one.secrets.length),
        one.url,
      ]),
    ]),
  );
}

async function rotate(options: Options): Promise<void> {
  const { store, flags, argument: id, graceHours } = options;
  const found = (await store.listSources()).find((one) => one.id === id);
  if (!found) throw new UsageError("Missing or unknown ID. `signalbox source list` shows the ids.");
  const { generated, until } = await sourcesIn(options).rotate(found, {
    secret: readSecret(process.env, SECRET_VARIABLE),
    graceHours,
  });
  if (flags.json)
    return print(JSON.stringify({ id: found.id, secret: generated, oldUntil: until }));
  print(
    `${green("✓")} ${generated ? `new secret ${bold(generated)}` : "added the secret from the environment"}`,
  );
  print(dim(`  The old secrets are valid until ${new Date(until).toISOString()} at most.`));
}

async function remove({ store, flags, argument: id }: Options): Promise<void> {
  if (!id || !(await store.deleteSource(id)))
    throw new UsageError("Missing or unknown ID. `signalbox source list` shows the ids.");
  if (flags.json) return print(JSON.stringify({ id, removed: true }));
  print(`${green("✓")} removed; its events are kept`);
}
