/**
 * Defines and reads all settings. Flags override the environment, which overrides
 * signalbox.config.json, which overrides the default. `signalbox config` prints the origin of each value.
 */
import ipaddr from "ipaddr.js";
import { z } from "zod";
import { secretVariable } from "../events/admit/secret-variable.ts";
import { sources } from "../events/sources/index.ts";
import { isLoopback, parseNetworks } from "../kernel/http/addresses.ts";
import { MAX_TOKEN_LENGTH } from "../kernel/lib/limits.ts";
import { parseKeys } from "../kernel/lib/seal.ts";

interface Setting<Value> {
  env: string;
  /** Undefined for secrets: other users of a machine can read the flags of its processes. */
  flag?: string;
  help: string;
  secret?: boolean;
  schema: z.ZodType<Value>;
}

const setting = <Value>(definition: Setting<Value>): Setting<Value> => definition;

/** Accepts decimal numbers only: `Number` would also accept "", " ", "0x10" and "1e9". */
export const parseNumber = (text: string): number | undefined =>
  /^\s*-?\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined;

/** Accepts numbers, and texts of the environment or the command line that are numbers. */
const numberOrText = (schema: z.ZodNumber) =>
  z.preprocess(
    (value) => (typeof value === "string" ? (parseNumber(value) ?? value) : value),
    schema,
  );
const number = z.number("must be a number");
const integer = (min: number, max: number) =>
  numberOrText(
    number
      .int("must be a whole number")
      .min(min, `must be at least ${min}`)
      .max(max, `must be at most ${max}`),
  );
const days = numberOrText(
  number
    .positive("must be above 0; for less than a day use a fraction such as 0.5")
    .max(36_500, "must be at most 36500"),
);
const nonEmpty = z.string("must be a string").trim().min(1, "must not be empty");
const url = z.url({ protocol: /^https?$/, error: "must be an http(s) URL" });
const choice = <const Values extends readonly [string, ...string[]]>(values: Values) =>
  z.enum(values, `must be one of ${values.join(", ")}`);
const boolean = z.preprocess(
  (value) =>
    value === "" || value === "0" || value === "false"
      ? false
      : value === "1" || value === "true"
        ? true
        : value,
  z.boolean("must be true or false"),
);
const textList = z.preprocess(
  (value) =>
    typeof value === "string"
      ? value
          .split(",")
          .map((part) => part.trim())
          .filter(Boolean)
      : value,
  z.array(z.string()),
);

const ALLOW_PRIVATE_RULE = "must be on, off, or IP addresses and networks, separated by commas";
function areNetworks(texts: readonly string[]): boolean {
  try {
    parseNetworks(texts);
    return true;
  } catch {
    return false;
  }
}

/** False (off), true (on), or a list of the allowed addresses and networks. */
const allowPrivate = z.preprocess(
  (value) =>
    typeof value !== "string"
      ? value
      : ["on", "true"].includes(value.trim())
        ? true
        : ["", "off", "false"].includes(value.trim())
          ? false
          : value.split(",").map((part) => part.trim()),
  z.union(
    [z.boolean(), z.array(z.string()).refine(areNetworks, ALLOW_PRIVATE_RULE)],
    ALLOW_PRIVATE_RULE,
  ),
);

// biome-ignore format: a table
export const definitions = {
  port: setting({ env: "PORT", flag: "port", help: "port to listen on", schema: integer(0, 65_535).default(4747) }),
  host: setting({ env: "HOST", flag: "host", help: "address to listen on", schema: nonEmpty.default("127.0.0.1") }),
  data: setting({ env: "SIGNALBOX_DATA", flag: "data", help: "folder for the database and the key", schema: nonEmpty.default(".signalbox") }),
  databaseUrl: setting({
    env: "DATABASE_URL", help: "sqlite: for a file in the data folder, sqlite:FILE, or postgres://…",
    secret: true,
    schema: z.string("must be a string").regex(/^(sqlite:|postgres(ql)?:\/\/)/, "must start with sqlite: or postgres://").refine((url) => !/^sqlite:(\/\/)?:memory:/.test(url), "must name a file: an in-memory database would lose acknowledged events").default("sqlite:"),
  }),
  publicUrl: setting({ env: "SIGNALBOX_PUBLIC_URL", flag: "public-url", help: "the URL under which senders and clients reach this hub", schema: url.optional() }),
  hosts: setting({ env: "SIGNALBOX_HOSTS", flag: "hosts", help: "more names under which clients reach this hub, such as signalbox or hub.internal, separated by commas", schema: textList.refine((names) => names.every((name) => URL.parse(`http://${name}`)?.hostname === name.toLowerCase()), "must be host names without ports, separated by commas").default([]) }),
  maxBodyMegabytes: setting({ env: "SIGNALBOX_MAX_BODY_MB", flag: "max-body-mb", help: "maximum size of a JSON body of /api and /mcp, in megabytes", schema: integer(1, 64).default(1) }),
  maxImportMegabytes: setting({ env: "SIGNALBOX_MAX_IMPORT_MB", flag: "max-import-mb", help: "maximum size of a JSON body with whole flows, in megabytes", schema: integer(1, 64).default(8) }),
  maxValues: setting({ env: "SIGNALBOX_MAX_VALUES", flag: "max-values", help: "maximum number of values (numbers, strings, arrays, objects) in a JSON body", schema: integer(1_000, 10_000_000).default(50_000) }),
  maxImportValues: setting({ env: "SIGNALBOX_MAX_IMPORT_VALUES", flag: "max-import-values", help: "maximum number of values in a JSON body with whole flows", schema: integer(1_000, 10_000_000).default(100_000) }),
  maxWebhookValues: setting({ env: "SIGNALBOX_MAX_WEBHOOK_VALUES", flag: "max-webhook-values", help: "maximum number of values in the body of a webhook above 256 KiB", schema: integer(1_000, 10_000_000).default(2_000_000) }),
  maxStreams: setting({ env: "SIGNALBOX_MAX_STREAMS", flag: "max-streams", help: "maximum number of open streams of all clients: GET /events, WebSockets, streams of runs", schema: integer(16, 100_000).default(4_096) }),
  tenancy: setting({ env: "SIGNALBOX_TENANCY", flag: "tenancy", help: "single, or github: one tenant for each account that installs the App", schema: choice(["single", "github"]).default("single") }),
  databaseWait: setting({ env: "SIGNALBOX_DATABASE_WAIT", flag: "database-wait", help: "seconds that the start waits for PostgreSQL if it is unavailable", schema: integer(0, 86_400).default(60) }),
  token: setting({ env: "SIGNALBOX_TOKEN", secret: true, help: "the admin token: serve accepts it (if unset, the first start generates one), commands send it", schema: z.string("must be a string").regex(/^[\x21-\x7e]+$/, "must consist of ASCII characters without spaces").max(MAX_TOKEN_LENGTH, `must have at most ${MAX_TOKEN_LENGTH} characters`).optional() }),
  key: setting({ env: "SIGNALBOX_KEY", secret: true, help: "32 bytes in base64 that encrypt stored secrets; if unset, a file in the data folder. After a comma, former keys, which only decrypt", schema: z.string().refine((text) => parseKeys(text) !== undefined, "must be 32 bytes in base64: openssl rand -base64 32").optional() }),
  acceptLostKey: setting({ env: "SIGNALBOX_ACCEPT_LOST_KEY", flag: "accept-lost-key", help: "start although the key cannot decrypt the stored secrets, so that you can enter them again", schema: boolean.default(false) }),
  url: setting({ env: "SIGNALBOX_URL", flag: "url", help: "the hub that the command uses; if unset, the one that runs on the data folder", schema: url.optional() }),
  allowUnsigned: setting({ env: "SIGNALBOX_ALLOW_UNSIGNED", flag: "allow-unsigned", help: "accept webhooks without a signature (only on a loopback address)", schema: boolean.default(false) }),
  metrics: setting({ env: "SIGNALBOX_METRICS", flag: "metrics", help: "who can read /metrics: auto (a token with the scope metrics:read when the hub is public, else everyone), token or open", schema: choice(["auto", "token", "open"]).default("auto") }),
  githubIpAllowlist: setting({ env: "GITHUB_IP_ALLOWLIST", flag: "github-ip-allowlist", help: "accept webhooks of GitHub only from its IP addresses: auto (on when the hub is public), on or off", schema: choice(["auto", "on", "off"]).default("auto") }),
  githubApiUrl: setting({ env: "GITHUB_API_URL", flag: "github-api-url", help: "the URL of GitHub's API", schema: url.default("https://api.github.com") }),
  githubUrl: setting({ env: "GITHUB_URL", flag: "github-url", help: "the URL of GitHub's web site", schema: url.default("https://github.com") }),
  githubAppId: setting({ env: "GITHUB_APP_ID", flag: "github-app-id", help: "the id of your GitHub App", schema: z.preprocess((value) => (typeof value === "number" ? String(value) : value), z.string("must be a string").trim().regex(/^[\w.]+$/, "must be the App ID or the client ID of a GitHub App")).optional() }),
  githubAppPrivateKey: setting({ env: "GITHUB_APP_PRIVATE_KEY", secret: true, help: "the private key of the App: PEM, or the path of a PEM file", schema: nonEmpty.optional() }),
  githubAppSlug: setting({ env: "GITHUB_APP_SLUG", flag: "github-app-slug", help: "the name of the App in URLs, for the link that installs it", schema: z.string("must be a string").trim().regex(/^[a-z0-9-]+$/i, "must be the last part of https://github.com/apps/…").optional() }),
  githubClientId: setting({ env: "GITHUB_CLIENT_ID", flag: "github-client-id", help: "the client ID of the App, to sign in with GitHub", schema: nonEmpty.optional() }),
  githubRedelivery: setting({ env: "GITHUB_REDELIVERY", flag: "github-redelivery", help: "minutes between the checks for webhooks that GitHub failed to deliver, or off; needs the App's id and key", schema: z.union([z.literal("off"), integer(1, 1_440)], "must be off, or minutes from 1 to 1440").default(5) }),
  githubClientSecret: setting({ env: "GITHUB_CLIENT_SECRET", secret: true, help: "a client secret of the App", schema: nonEmpty.optional() }),
  membershipRecheck: setting({ env: "SIGNALBOX_MEMBERSHIP_RECHECK", flag: "membership-recheck", help: "seconds after which GitHub must confirm the memberships of a person again", schema: integer(1, 3_600).default(120) }),
  rateLimit: setting({ env: "SIGNALBOX_RATE_LIMIT", flag: "rate-limit", help: "maximum number of failed webhooks and callbacks per second and client address, above which only valid ones are accepted; 0 = no limit", schema: integer(0, 1_000_000).default(100) }),
  quota: setting({ env: "SIGNALBOX_QUOTA", flag: "quota", help: "maximum number of pending events per tenant; 0 = no limit (default: no limit for single, 10000 for github)", schema: integer(0, Number.MAX_SAFE_INTEGER).optional() }),
  proxyHeader: setting({ env: "SIGNALBOX_PROXY_HEADER", flag: "proxy-header", help: "header with the client's address, set by a trusted proxy, such as x-forwarded-for", schema: z.string().regex(/^[a-z0-9-]+$/i, "must be the name of a header").optional() }),
  proxyAddresses: setting({
    env: "SIGNALBOX_PROXY_ADDRESSES", flag: "proxy-addresses", help: "addresses or networks of the trusted proxies",
    schema: textList.refine(areNetworks, "must be IP addresses or networks, separated by commas").default(["127.0.0.0/8", "::1"]),
  }),
  keepProcessedDays: setting({ env: "SIGNALBOX_KEEP_PROCESSED_DAYS", flag: "keep-processed-days", help: "days to keep processed events, above 0", schema: days.default(3) }),
  keepPendingDays: setting({ env: "SIGNALBOX_KEEP_PENDING_DAYS", flag: "keep-pending-days", help: "days to keep pending events, above 0", schema: days.default(90) }),
  keepMegabytes: setting({ env: "SIGNALBOX_KEEP_MB", flag: "keep-mb", help: "maximum size of the events and ended runs to keep per tenant, as stored in the database, in megabytes", schema: integer(1, 1_000_000_000).default(8192) }),
  eventsDraft: setting({ env: "SIGNALBOX_EVENTS_DRAFT", flag: "events-draft", help: "on or off: MCP Events (a draft) on /mcp, with webhooks to subscribers", schema: choice(["on", "off"]).default("on") }),
  allowPrivate: setting({ env: "SIGNALBOX_ALLOW_PRIVATE", flag: "allow-private", help: "private addresses that flows, connections and webhooks may call, also over http: off, on, or a list of addresses and networks", schema: allowPrivate.default(false) }),
  allowCommands: setting({ env: "SIGNALBOX_ALLOW_COMMANDS", flag: "allow-commands", help: "on or off: connections may run MCP servers as commands on this machine", schema: choice(["on", "off"]).default("off") }),
  keepRunsDays: setting({ env: "SIGNALBOX_KEEP_RUNS_DAYS", flag: "keep-runs-days", help: "days to keep ended runs, above 0", schema: days.default(30) }),
  runsAtOnce: setting({ env: "SIGNALBOX_RUNS_AT_ONCE", flag: "runs-at-once", help: "hard limit of the queued runs that this process executes at the same time, also of those that wait; 0 = none, only other processes execute them (default: no limit but the memory)", schema: integer(0, 100_000).optional() }),
  runMemoryMegabytes: setting({ env: "SIGNALBOX_RUN_MEMORY_MB", flag: "run-memory-mb", help: "memory for the runs that this process executes, in megabytes; above it, other runs wait in the database", schema: integer(8, 100_000).default(64) }),
  originRequests: setting({ env: "SIGNALBOX_ORIGIN_REQUESTS", flag: "origin-requests", help: "how many requests the runs of this process may have open at one origin, such as https://api.example.com; above it, they wait", schema: integer(1, 100_000).default(64) }),
  runLease: setting({ env: "SIGNALBOX_RUN_LEASE", flag: "run-lease", help: "seconds after which other processes claim the runs of a process that died", schema: integer(1, 3_600).default(15) }),
  runBytes: setting({ env: "SIGNALBOX_RUN_BYTES", flag: "run-bytes", help: "maximum number of bytes that a run may store: the inputs and outputs of its steps, as JSON", schema: integer(100_000, 10_000_000_000).default(64_000_000) }),
  maxChain: setting({ env: "SIGNALBOX_MAX_CHAIN", flag: "max-chain", help: "maximum length of a chain of runs that start each other by events and calls", schema: integer(1, 100).default(5) }),
  maxLoops: setting({ env: "SIGNALBOX_MAX_LOOPS", flag: "max-loops", help: "how often per minute a trigger may fire on events that its own flow has caused; 0 = never", schema: integer(0, 1_000_000).default(30) }),
  logLevel: setting({ env: "SIGNALBOX_LOG_LEVEL", flag: "log-level", help: "fatal, error, warn, info, debug, trace or silent", schema: choice(["fatal", "error", "warn", "info", "debug", "trace", "silent"]).default("info") }),
  logFormat: setting({ env: "SIGNALBOX_LOG_FORMAT", flag: "log-format", help: "auto (pretty on a terminal), json or pretty", schema: choice(["auto", "json", "pretty"]).default("auto") }),
} as const;

type Definitions = typeof definitions;
export type SettingName = keyof Definitions;
type SettingValues = { [Name in SettingName]: z.infer<Definitions[Name]["schema"]> };

export interface Origin {
  name: string;
  env: string;
  value: unknown;
  from: "flag" | "environment" | "file" | "default";
  secret: boolean;
}

export interface Settings extends SettingValues {
  /** Webhook secrets by source, from the environment or the file. */
  secrets: Record<string, string[]>;
  /** Whether other machines can reach the hub. */
  isPublic: boolean;
  origins: Origin[];
}

/** A mistake in the settings; the message contains the fix. */
export class SettingsError extends Error {
  readonly code = "settings";
}

export interface SettingsInput {
  flags: Record<string, string | boolean | undefined>;
  env: Record<string, string | undefined>;
  /** The parsed signalbox.config.json. */
  file: Record<string, unknown>;
}

export function readSettings({ flags, env, file }: SettingsInput): Settings {
  const origins: Origin[] = [];
  const problems: string[] = [];
  const values: Record<string, unknown> = {};

  for (const [name, { env: variable, flag, schema, secret = false }] of Object.entries(
    definitions as Record<string, Setting<unknown>>,
  )) {
    const [from, input] = firstDefined(
      ["flag", flag === undefined ? undefined : flags[flag]],
      ["environment", env[variable]?.trim() ? env[variable] : undefined],
      ["file", file[name]],
    );
    const parsed = schema.safeParse(input);
    if (parsed.success) values[name] = parsed.data;
    else {
      const where = {
        flag: `--${flag}`,
        environment: variable,
        file: `"${name}" in signalbox.config.json`,
        default: variable,
      }[from];
      problems.push(
        `${where} ${parsed.error.issues[0]?.message ?? "is invalid"}${secret ? "" : `, but is ${JSON.stringify(input)}`}.`,
      );
    }
    origins.push({ name, env: variable, value: values[name], from, secret });
  }

  const secrets: Record<string, string[]> = {};
  const fileSecrets = z
    .record(z.string(), z.union([z.string(), z.array(z.string())]))
    .safeParse(file.secrets ?? {});
  if (!fileSecrets.success)
    problems.push(
      '"secrets" in signalbox.config.json must map sources to a secret or a list of them.',
    );
  for (const { id } of sources) {
    const variable = secretVariable(id);
    const [from, input] = firstDefined(
      ["environment", env[variable] || undefined],
      ["file", fileSecrets.data?.[id]],
    ) as [Origin["from"], string | string[] | undefined];
    const where = from === "file" ? `"secrets.${id}" in signalbox.config.json` : variable;
    const list = input === undefined ? [] : splitSecrets(input);
    if (input !== undefined && (list.length === 0 || list.includes("")))
      problems.push(emptySecret(where));
    secrets[id] = list;
    if (input !== undefined || id === "github")
      origins.push({ name: `secrets.${id}`, env: variable, value: input, from, secret: true });
  }
  for (const name of Object.keys(file))
    if (!(name in definitions) && name !== "secrets")
      problems.push(
        `signalbox.config.json has an unknown setting "${name}". Known settings: ${[...Object.keys(definitions), "secrets"].join(", ")}.`,
      );
  for (const name of Object.keys(fileSecrets.data ?? {}))
    if (!sources.some(({ id }) => id === name))
      problems.push(
        `"secrets" in signalbox.config.json names an unknown source "${name}". Known sources: ${sources.map(({ id }) => id).join(", ")}.`,
      );
  if (problems.length > 0) throw new SettingsError(problems.join("\n"));

  const settings = values as SettingValues;
  return {
    ...settings,
    secrets,
    origins,
    isPublic: !isLoopback(settings.host) || settings.publicUrl !== undefined,
  };
}

const splitSecrets = (value: string | string[]): string[] =>
  (typeof value === "string" ? value.split(",") : value).map((secret) => secret.trim());

/**
 * An empty secret is an error: anyone can sign with it, and a hub that ignored it could accept unsigned
 * webhooks.
 */
const emptySecret = (where: string) =>
  `${where} contains an empty secret. Set a value, or remove it.`;

/** Reads a secret for a command from the environment: other users could read a flag. */
export function readSecret(
  env: Record<string, string | undefined>,
  variable: string,
): string | undefined {
  const value = env[variable];
  if (!value) return undefined;
  if (!value.trim()) throw new SettingsError(emptySecret(variable));
  return value.trim();
}

function firstDefined<From extends string>(
  ...candidates: [From, unknown][]
): [From | "default", unknown] {
  return candidates.find(([, value]) => value !== undefined) ?? ["default", undefined];
}

/** The hub's URL on this machine. If the hub listens on all addresses, the URL has the loopback address. */
export function localUrl({ host, port }: Pick<Settings, "host" | "port">): string {
  if (!ipaddr.isValid(host)) return `http://${host}:${port}`;
  const address = ipaddr.parse(host);
  if (address.range() === "unspecified") return `http://127.0.0.1:${port}`;
  return `http://${address.kind() === "ipv6" ? `[${host}]` : host}:${port}`;
}
