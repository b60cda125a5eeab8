import { sources } from "../../ingest/sources/index.ts";
import { createIds } from "../../lib/ids.ts";
import { createSeal, type Seal } from "../../lib/seal.ts";
import type { Source, Store } from "../../store/store.ts";
import { LOCAL_TENANT } from "../../tenants/tenancy.ts";
import { randomSecret } from "../../tenants/tokens.ts";
import { loadSettings } from "../node/load-settings.ts";
import { openStore } from "../node/open-store.ts";
import { sealKey } from "../node/seal-key.ts";
import type { Settings } from "../settings.ts";
import { type Command, print, table, text, UsageError } from "./command.ts";
import { bold, dim, green } from "./style.ts";

const HOUR_MS = 60 * 60 * 1000;

export const source: Command = {
  name: "source",
  usage: "add KIND [NAME] | list | rotate ID | remove ID [options]",
  summary: "manage webhook endpoints that have a key and secrets of their own",
  details:
    "`rotate` adds a secret; the old ones go on working for --grace hours, so that the sender can change over.\n" +
    "The secret is read from SIGNALBOX_SOURCE_SECRET; without it one is made and printed once.",
  options: {
    config: {
      type: "string",
      value: "JSON",
      help: 'what the kind can be told, such as {"header":"x-signature"} for generic',
    },
    tenant: { type: "string", value: "ID", help: "whose events these are (single: local)" },
    grace: {
      type: "string",
      value: "HOURS",
      help: "with rotate: how long the old secrets still work (24)",
    },
    json: { type: "boolean", help: "print JSON" },
  },
  takesSettings: true,
  async run({ positionals, flags }) {
    const [action, argument, name] = positionals;
    const work = { add, list, rotate, remove }[action ?? ""];
    if (!work) throw new UsageError("Say what to do: add KIND, list, rotate ID, or remove ID.");
    const settings = loadSettings(flags);
    const store = await openStore(settings);
    try {
      await work({
        store,
        settings,
        flags,
        argument,
        name,
        seal: createSeal(sealKey(settings.key, settings.data)),
      });
    } finally {
      await store.close();
    }
  },
};

interface Work {
  store: Store;
  settings: Settings;
  seal: Seal;
  flags: Record<string, string | boolean | undefined>;
  argument: string | undefined;
  name: string | undefined;
}

const urlOf = (settings: Settings, { kind, key }: Pick<Source, "kind" | "key">) =>
  `${(settings.publicUrl ?? `http://${settings.host}:${settings.port}`).replace(/\/$/, "")}/webhooks/${kind}/${key}`;

async function addSecret({ store, seal }: Work, id: string, now: number): Promise<string> {
  const secret = process.env.SIGNALBOX_SOURCE_SECRET || randomSecret("");
  await store.addSourceSecret(id, {
    id: createIds()(),
    sealed: await seal.seal(secret),
    created_at: now,
    expires_at: null,
  });
  return process.env.SIGNALBOX_SOURCE_SECRET ? "(the given one)" : secret;
}

async function add(work: Work): Promise<void> {
  const { store, settings, flags, argument: kind, name } = work;
  const definition = sources.find(({ id }) => id === kind);
  if (!definition)
    throw new UsageError(`Which kind? Known are: ${sources.map(({ id }) => id).join(", ")}.`);
  const tenant = text(flags.tenant) ?? (settings.tenancy === "single" ? LOCAL_TENANT : undefined);
  if (!tenant) throw new UsageError("Say whose events these are: --tenant ACCOUNT_ID.");
  const now = Date.now();
  const made = {
    id: createIds()(),
    tenant,
    kind: definition.id,
    name: name ?? definition.title,
    key: randomSecret("").slice(0, 22),
    config: parseConfig(definition, text(flags.config)),
    created_at: now,
  };
  await store.putTenant({ id: tenant, at: now });
  await store.putSource(made);
  const secret = await addSecret(work, made.id, now);
  if (flags.json) return print(JSON.stringify({ id: made.id, url: urlOf(settings, made), secret }));
  print(`${green("✓")} ${made.name}`);
  print(
    table([
      ["  URL", bold(urlOf(settings, made))],
      ["  Secret", bold(secret)],
      ["  Id", made.id],
    ]),
  );
  print(dim("  The secret is shown once. A running hub knows the endpoint within five seconds."));
}

function parseConfig(
  definition: (typeof sources)[number],
  given: string | undefined,
): Record<string, unknown> {
  if (!definition.config) {
    if (given !== undefined) throw new UsageError(`${definition.title} has nothing to configure.`);
    return {};
  }
  let value: unknown = {};
  try {
    value = JSON.parse(given ?? "{}");
  } catch {
    throw new UsageError("--config must be JSON.");
  }
  const parsed = definition.config.safeParse(value);
  if (parsed.success) return value as Record<string, unknown>;
  const [issue] = parsed.error.issues;
  throw new UsageError(`--config: ${issue?.path.join(".") || "the object"} ${issue?.message}.`);
}

async function list({ store, settings, flags }: Work): Promise<void> {
  const found = await store.listSources();
  const shown = found.map(({ secrets, ...rest }) => ({
    ...rest,
    url: urlOf(settings, rest),
    secrets: secrets.map(({ sealed: _, ...secret }) => secret),
  }));
  if (flags.json) return print(JSON.stringify(shown));
  if (found.length === 0)
    return print("There are no endpoints with a key. Add one with `signalbox source add KIND`.");
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

async function rotate(work: Work): Promise<void> {
  const { store, flags, argument: id } = work;
  const found = (await store.listSources()).find((one) => one.id === id);
  if (!found) throw new UsageError("Which endpoint? `signalbox source list` shows their ids.");
  const grace = Number(text(flags.grace) ?? 24);
  if (!(grace >= 0)) throw new UsageError("--grace must be a number of hours.");
  const now = Date.now();
  const secret = await addSecret(work, found.id, now);
  for (const old of found.secrets)
    if (old.expires_at === null)
      await store.expireSourceSecret(found.id, old.id, now + grace * HOUR_MS);
  if (flags.json)
    return print(JSON.stringify({ id: found.id, secret, oldUntil: now + grace * HOUR_MS }));
  print(`${green("✓")} new secret ${bold(secret)}`);
  print(dim(`  The old one works until ${new Date(now + grace * HOUR_MS).toISOString()}.`));
}

async function remove({ store, flags, argument: id }: Work): Promise<void> {
  if (!id || !(await store.deleteSource(id)))
    throw new UsageError("Which endpoint? `signalbox source list` shows their ids.");
  if (flags.json) return print(JSON.stringify({ id, removed: true }));
  print(`${green("✓")} removed; its events stay`);
}
