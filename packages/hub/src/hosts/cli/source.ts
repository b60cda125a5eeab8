import { sources } from "../../ingest/sources/index.ts";
import { toBase64 } from "../../lib/hmac.ts";
import { createIds } from "../../lib/ids.ts";
import { createSeal } from "../../lib/seal.ts";
import type { Source, SourceSecret, Store } from "../../store/store.ts";
import { LOCAL_TENANT } from "../../tenants/tenancy.ts";
import { randomSecret } from "../../tenants/tokens.ts";
import { loadSettings } from "../node/load-settings.ts";
import { sealKey } from "../node/seal-key.ts";
import { localUrl, readSecret, type Settings } from "../settings.ts";
import {
  type Command,
  listOf,
  numberOf,
  print,
  refuseMore,
  table,
  text,
  UsageError,
} from "./command.ts";
import { bold, dim, green } from "./style.ts";
import { withStore } from "./with-store.ts";

const HOUR_MS = 60 * 60 * 1000;
const MAX_GRACE_HOURS = 87_600;
const SECRET_VARIABLE = "SIGNALBOX_SOURCE_SECRET";

/** Kinds whose senders want secrets of a certain form; the others take any text. */
const madeSecrets: Record<string, () => string> = {
  "standard-webhooks": () => `whsec_${toBase64(crypto.getRandomValues(new Uint8Array(32)))}`,
};

export const source: Command = {
  name: "source",
  usage: "add KIND [NAME] | list | rotate ID | remove ID [options]",
  summary: "manage webhook endpoints that have a key and secrets of their own",
  details:
    "`rotate` adds a secret; the old ones go on working for --grace hours, so that the sender can change over.\n" +
    `The secret is read from the environment, ${SECRET_VARIABLE}; without it one is made and printed once.`,
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
  settings: ["data", "databaseUrl", "key", "tenancy", "host", "port", "publicUrl"],
  async run({ positionals, flags }) {
    const [action, ...rest] = positionals;
    const work = { add, list, rotate, remove }[action ?? ""];
    if (!work) throw new UsageError("Say what to do: add KIND, list, rotate ID, or remove ID.");
    refuseMore(rest.slice(work === list ? 0 : work === add ? 2 : 1));
    const [argument, name] = rest;
    const graceHours =
      numberOf(
        flags,
        "grace",
        (value) => value >= 0 && value <= MAX_GRACE_HOURS,
        `a number from 0 to ${MAX_GRACE_HOURS}, in hours`,
      ) ?? 24;
    const tenants = listOf(flags, "tenant");
    if (tenants && tenants.length > 1) throw new UsageError("--tenant must be one id.");
    const settings = loadSettings(flags);
    await withStore(settings, { create: work === add }, (store) =>
      work({ store, settings, flags, argument, name, tenant: tenants?.[0], graceHours }),
    );
  },
};

interface Work {
  store: Store;
  settings: Settings;
  flags: Record<string, string | boolean | undefined>;
  argument: string | undefined;
  name: string | undefined;
  tenant: string | undefined;
  graceHours: number;
}

const urlOf = (settings: Settings, { kind, key }: Pick<Source, "kind" | "key">) =>
  `${(settings.publicUrl ?? localUrl(settings)).replace(/\/$/, "")}/webhooks/${kind}/${key}`;

/** A secret ready to be stored; and as text where it was made here, to be shown once. */
async function makeSecret(
  { settings }: Work,
  kind: string,
  now: number,
): Promise<{ sealed: SourceSecret; made: string | undefined }> {
  const given = readSecret(process.env, SECRET_VARIABLE);
  const secret = given ?? (madeSecrets[kind] ?? (() => randomSecret("")))();
  const { seal } = createSeal(sealKey(settings.key, settings.data));
  return {
    sealed: { id: createIds()(), sealed: await seal(secret), created_at: now, expires_at: null },
    made: given === undefined ? secret : undefined,
  };
}

async function add(work: Work): Promise<void> {
  const { store, settings, flags, argument: kind, name } = work;
  const definition = sources.find(({ id }) => id === kind);
  if (!definition)
    throw new UsageError(`Which kind? Known are: ${sources.map(({ id }) => id).join(", ")}.`);
  const tenant = work.tenant ?? (settings.tenancy === "single" ? LOCAL_TENANT : undefined);
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
  const secret = await makeSecret(work, made.kind, now);
  await store.putTenant({ id: tenant, at: now });
  await store.putSource(made, secret.sealed);
  if (flags.json)
    return print(JSON.stringify({ id: made.id, url: urlOf(settings, made), secret: secret.made }));
  print(`${green("✓")} ${made.name}`);
  print(
    table([
      ["  URL", bold(urlOf(settings, made))],
      ["  Secret", secret.made ? bold(secret.made) : "the given one"],
      ["  Id", made.id],
    ]),
  );
  print(
    dim(
      `${secret.made ? "  The secret is shown once. " : "  "}A running hub knows the endpoint within five seconds.`,
    ),
  );
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
  const { store, flags, argument: id, graceHours } = work;
  const found = (await store.listSources()).find((one) => one.id === id);
  if (!found) throw new UsageError("Which endpoint? `signalbox source list` shows their ids.");
  const now = Date.now();
  const until = now + Math.round(graceHours * HOUR_MS);
  const secret = await makeSecret(work, found.kind, now);
  // The new one first: whatever happens in between, the endpoint has a secret that works.
  await store.addSourceSecret(found.id, secret.sealed);
  for (const old of found.secrets)
    if (old.expires_at === null || old.expires_at > until)
      await store.expireSourceSecret(found.id, old.id, until);
  if (flags.json)
    return print(JSON.stringify({ id: found.id, secret: secret.made, oldUntil: until }));
  print(
    `${green("✓")} ${secret.made ? `new secret ${bold(secret.made)}` : "the given secret is in"}`,
  );
  print(dim(`  Older ones work until ${new Date(until).toISOString()} at the latest.`));
}

async function remove({ store, flags, argument: id }: Work): Promise<void> {
  if (!id || !(await store.deleteSource(id)))
    throw new UsageError("Which endpoint? `signalbox source list` shows their ids.");
  if (flags.json) return print(JSON.stringify({ id, removed: true }));
  print(`${green("✓")} removed; its events stay`);
}
