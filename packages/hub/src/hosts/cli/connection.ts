import { loadSettings } from "../node/load-settings.ts";
import { readSecret, type Settings } from "../settings.ts";
import {
  actionOf,
  assertNoMoreArguments,
  type Command,
  type Parsed,
  print,
  table,
  text,
  UsageError,
} from "./command.ts";
import { type HubClient, HubRequestFailed } from "./hub-client.ts";
import { program } from "./program.ts";
import { sameHubFlags } from "./same-hub-flags.ts";
import { bold, dim, green, red, yellow } from "./style.ts";
import { ownerTenant } from "./tenant-flag.ts";
import { withHub } from "./with-hub.ts";

const TOKEN_VARIABLE = "SIGNALBOX_CONNECTION_TOKEN";
const CLIENT_VARIABLE = "SIGNALBOX_CONNECTION_CLIENT_SECRET";
const PATH = "/api/connections";
const PAGE = 100;

export const connection: Command = {
  name: "connection",
  usage: "add NAME URL | list | check [ID] | remove ID [options] [-- COMMAND…]",
  summary: "connect MCP servers, whose tools flows call and whose triggers start flows",
  details:
    "`add` checks the server, and stores it also if it does not respond. `check` checks one connection, or all,\n" +
    "and exits with 1 if one fails. `add NAME -- COMMAND…` adds a program on the hub's machine, which must allow it.\n" +
    "Secrets are read from the environment, since other users can read a command line:\n" +
    `${TOKEN_VARIABLE} is a bearer token; ${CLIENT_VARIABLE}, with --client-id, is that of an OAuth client.`,
  example: "npx signalbox connection add weather https://weather.example/mcp",
  options: {
    "token-stdin": { type: "boolean", help: "read the bearer token from standard input" },
    header: {
      type: "string",
      value: "NAME=VARIABLE",
      multiple: true,
      help: "send a header with the value of an environment variable; repeatable",
    },
    oauth: {
      type: "boolean",
      help: "a person authorizes the hub with OAuth, in the web UI",
    },
    "client-id": {
      type: "string",
      value: "ID",
      help: "use OAuth client credentials with this client; with --oauth, authorize this client",
    },
    "token-url": {
      type: "string",
      value: "URL",
      help: "the OAuth token endpoint (from the server's metadata)",
    },
    scope: { type: "string", value: "SCOPES", help: "the OAuth scopes, separated by spaces" },
    env: {
      type: "string",
      value: "VARIABLE",
      multiple: true,
      help: "pass an environment variable to the command; repeatable",
    },
    tenant: { type: "string", value: "ID", help: "the tenant that owns it (single: local)" },
    json: { type: "boolean", help: "print JSON" },
  },
  takesCommand: "optional",
  settings: ["url", "token", "data", "databaseUrl", "key", "tenancy", "allowCommands"],
  async run(args) {
    const [name, ...rest] = args.positionals;
    const action = actionOf(
      { add, list, check, remove },
      name,
      "add NAME URL, list, check [ID], or remove ID",
    );
    assertNoMoreArguments(rest.slice({ add: 2, list: 0, check: 1, remove: 1 }[name ?? ""]));
    if (action !== add && args.command) throw new UsageError("Only `add` takes a command.");
    await action({ ...args, positionals: rest }, loadSettings(args.flags));
  },
};

type Action = (args: Parsed, settings: Settings) => Promise<void>;

interface ConnectionView {
  id: string;
  name: string;
  url: string | null;
  command: string | null;
  args: string[];
  status: "unknown" | "ok" | "failed" | "needs_authorization";
  error: string | null;
  tool_count: number;
  trigger_count: number;
}

const inHub = (
  { flags }: Parsed,
  settings: Settings,
  create: boolean,
  work: (hub: HubClient) => Promise<void>,
): Promise<void> =>
  withHub(settings, { create, tenantIn: ownerTenant(flags, "connections") }, work);

const add: Action = async (args, settings) => {
  const { flags, command } = args;
  const [name, url] = args.positionals;
  if (name === undefined || (url === undefined) === (command === undefined))
    throw new UsageError(
      "Name the connection and its server: `npx signalbox connection add NAME URL`, or `add NAME -- COMMAND`.",
    );
  const body = {
    name,
    ...(command === undefined ? { url } : { command: command[0], args: command.slice(1) }),
    ...(await credentialsOf(args)),
  };
  await inHub(args, settings, true, async (hub) => {
    const added = await hub.request<ConnectionView>("POST", PATH, { body }).catch(asUsage);
    if (flags.json) return print(JSON.stringify(added));
    print(`${mark(added)} ${bold(added.id)}  ${dim(targetOf(added))}`);
    print(`  ${describe(added)}`);
    if (added.trigger_count > 0)
      print(dim(`  Event triggers listen to it with the source ${added.id}.`));
    if (added.status === "needs_authorization")
      print(dim(`  \`${program} open${sameHubFlags(settings)}\` opens the web UI.`));
    if (added.status === "failed")
      print(dim(`  It is stored, and checked again. Now: ${follow("check", added.id, settings)}`));
  });
};

async function credentialsOf({ flags, lists }: Parsed) {
  const headers = lists.header?.map((given): [string, string] => {
    const [header = "", variable = ""] = given.split("=", 2);
    if (!header || !variable)
      throw new UsageError("--header must be NAME=VARIABLE, such as --header X-Api-Key=API_KEY.");
    return [header, variableValue(variable, "--header")];
  });
  const env = lists.env?.map((variable): [string, string] => [
    variable,
    variableValue(variable, "--env"),
  ]);
  const auth = await authOf(flags);
  return {
    ...(headers && { headers: Object.fromEntries(headers) }),
    ...(auth && { auth }),
    ...(env && { env: Object.fromEntries(env) }),
  };
}

function variableValue(variable: string, flag: string): string {
  const value = process.env[variable];
  if (!value)
    throw new UsageError(`${flag}: the environment variable ${variable} is not set or empty.`);
  return value;
}

async function authOf(flags: Parsed["flags"]) {
  const client = text(flags["client-id"]);
  const secret = readSecret(process.env, CLIENT_VARIABLE);
  const token = flags["token-stdin"] ? await readStdin() : readSecret(process.env, TOKEN_VARIABLE);
  if (flags.oauth) {
    if (token !== undefined || flags["token-url"] !== undefined)
      throw new UsageError("--oauth cannot be combined with a bearer token or --token-url.");
    return {
      type: "oauth",
      grant: "authorization_code",
      client_id: client,
      client_secret: client === undefined ? undefined : secret,
      scope: text(flags.scope),
    };
  }
  if (client === undefined) {
    for (const flag of ["token-url", "scope"])
      if (flags[flag] !== undefined)
        throw new UsageError(
          `--${flag} needs --client-id${flag === "scope" ? " or --oauth" : ""}.`,
        );
    return token === undefined ? undefined : { type: "bearer", token };
  }
  if (token !== undefined)
    throw new UsageError("Give a bearer token or --client-id, but not both.");
  if (secret === undefined)
    throw new UsageError(`--client-id needs the secret of the client in ${CLIENT_VARIABLE}.`);
  return {
    type: "oauth",
    client_id: client,
    client_secret: secret,
    token_url: text(flags["token-url"]),
    scope: text(flags.scope),
  };
}

async function readStdin(): Promise<string> {
  let given = "";
  for await (const chunk of process.stdin) given += String(chunk);
  if (!given.trim()) throw new UsageError("--token-stdin: standard input has no token.");
  return given.trim();
}

const list: Action = (args, settings) =>
  inHub(args, settings, false, async (hub) => {
    const items = await listAll(hub);
    if (args.flags.json) return print(JSON.stringify(items));
    if (items.length === 0)
      return print(
        `No connections. Add one with \`${program} connection add NAME URL${sameHubFlags(settings)}\`.`,
      );
    print(
      table([
        ["ID", "NAME", "STATUS", "TOOLS", "TRIGGERS", "SERVER"],
        ...items.map((one) => [
          one.id,
          one.name,
          one.status,
          String(one.tool_count),
          String(one.trigger_count),
          targetOf(one),
        ]),
      ]),
    );
    for (const one of items) if (one.error) print(`${red("✗")} ${one.id}: ${one.error}`);
  });

async function listAll(hub: HubClient): Promise<ConnectionView[]> {
  const items: ConnectionView[] = [];
  let cursor: string | undefined;
  do {
    const page = await hub.request<{ items: ConnectionView[]; next_cursor: string | null }>(
      "GET",
      PATH,
      { query: { limit: PAGE, cursor } },
    );
    items.push(...page.items);
    cursor = page.next_cursor ?? undefined;
  } while (cursor !== undefined);
  return items;
}

const check: Action = (args, settings) =>
  inHub(args, settings, false, async (hub) => {
    const [given] = args.positionals;
    const ids = given === undefined ? (await listAll(hub)).map(({ id }) => id) : [given];
    const checked: ConnectionView[] = [];
    for (const id of ids) {
      const one = await hub
        .request<ConnectionView>("POST", `${pathOf(id)}/check`)
        .catch(unknownIn(settings));
      checked.push(one);
      if (!args.flags.json) print(`${mark(one)} ${bold(one.id)}  ${describe(one)}`);
    }
    if (args.flags.json) print(JSON.stringify(given === undefined ? checked : checked[0]));
    else if (checked.length === 0) print("No connections.");
    if (checked.some(({ status }) => status !== "ok")) process.exitCode = 1;
  });

const remove: Action = (args, settings) =>
  inHub(args, settings, false, async (hub) => {
    const [id = ""] = args.positionals;
    const { items } = await hub
      .request<{ items: unknown[] }>("GET", `${pathOf(id)}/subscriptions`)
      .catch(unknownIn(settings));
    await hub.request("DELETE", pathOf(id)).catch(unknownIn(settings));
    if (args.flags.json) return print(JSON.stringify({ id, removed: true }));
    print(`${green("✓")} removed; its events are kept`);
    if (items.length > 0)
      print(
        `${yellow("!")} ${count(items.length, "trigger")} of published flows listened to it, and will not fire any more.`,
      );
  });

const mark = ({ status }: ConnectionView): string =>
  ({
    ok: green("✓"),
    failed: red("✗"),
    unknown: yellow("?"),
    needs_authorization: yellow("!"),
  })[status];

const count = (number: number, noun: string): string =>
  `${number} ${noun}${number === 1 ? "" : "s"}`;

function describe({ status, error, tool_count, trigger_count }: ConnectionView): string {
  if (status === "failed" || status === "needs_authorization") return error ?? status;
  if (status === "unknown") return "not checked yet: the hub checks it when it runs";
  return `${count(tool_count, "tool")}, ${count(trigger_count, "trigger")}`;
}

const targetOf = ({ url, command, args }: ConnectionView): string =>
  url ?? [command, ...args].join(" ");

const follow = (action: string, id: string, settings: Settings): string =>
  `${program} connection ${action} ${id}${sameHubFlags(settings)}`;

/** An empty id has no path: it would name the list. */
const pathOf = (id: string): string => `${PATH}/${encodeURIComponent(id) || "-"}`;

const unknownIn =
  (settings: Settings) =>
  (error: unknown): never => {
    if (!(error instanceof HubRequestFailed) || error.status !== 404) throw error;
    throw new UsageError(
      `Missing or unknown ID. \`npx signalbox connection list${sameHubFlags(settings)}\` shows the ids.`,
    );
  };

/** An invalid field of the request is an invalid command line. */
function asUsage(error: unknown): never {
  if (error instanceof HubRequestFailed && error.code === "invalid")
    throw new UsageError(error.message);
  throw error;
}
