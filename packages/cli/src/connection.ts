import type { Connection } from "@signalbox/contract";
import { readSecret } from "@signalbox/rules/settings.ts";
import {
  actionOf,
  asString,
  assertNoMoreArguments,
  type Command,
  type Parsed,
  print,
  table,
  UsageError,
} from "./command.ts";
import { type HubClient, HubRequestFailed } from "./hub-client.ts";
import { program } from "./program.ts";
import { sameHubFlags } from "./same-hub-flags.ts";
import type { ClientSettings } from "./settings.ts";
import { bold, dim, green, red, yellow } from "./style.ts";
import {
  type OpenSession,
  ownerTenant,
  type Session,
  type WithHubOptions,
  withHub,
} from "./with-hub.ts";

const TOKEN_VARIABLE = "SIGNALBOX_CONNECTION_TOKEN";
const CLIENT_SECRET_VARIABLE = "SIGNALBOX_CONNECTION_CLIENT_SECRET";

export const createConnection = (openSession: OpenSession): Command => ({
  name: "connection",
  usage: "add NAME URL | list | check [ID] | remove ID [options] [-- COMMAND…]",
  summary: "connect MCP servers, whose tools flows call and whose triggers start flows",
  details:
    "`add` stores the connection and checks its server. A connection whose server does not respond is stored too.\n" +
    "`add NAME -- COMMAND…` adds an MCP server that the hub runs as a command on its machine. The hub must allow\n" +
    "commands: SIGNALBOX_ALLOW_COMMANDS=on. `check` checks one connection or all, and exits with 1 if a check fails.\n" +
    "Secrets are read from the environment, since other users can read a command line: a bearer token from\n" +
    `${TOKEN_VARIABLE}, and the secret of the OAuth client in --client-id from ${CLIENT_SECRET_VARIABLE}.`,
  example: "npx @signalbox/cli connection add weather https://weather.example/mcp",
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
      help: "the OAuth client for client credentials; with --oauth, the client that a person authorizes",
    },
    "token-url": {
      type: "string",
      value: "URL",
      help: "the OAuth token endpoint (default: from the server's metadata)",
    },
    scope: { type: "string", value: "SCOPES", help: "the OAuth scopes, separated by spaces" },
    env: {
      type: "string",
      value: "VARIABLE",
      multiple: true,
      help: "pass an environment variable to the command; repeatable",
    },
    tenant: {
      type: "string",
      value: "ID",
      help: "the tenant that owns it (with one tenant: local)",
    },
    json: { type: "boolean", help: "print JSON" },
  },
  takesCommand: "optional",
  settings: ["url", "token", "data"],
  async run(args) {
    const [name, ...actionArguments] = args.positionals;
    const action = actionOf(
      { add, list, check, remove },
      name,
      "add NAME URL, list, check [ID], or remove ID",
    );
    const maxArguments = { add: 2, list: 0, check: 1, remove: 1 }[name ?? ""];
    assertNoMoreArguments(actionArguments.slice(maxArguments));
    if (action !== add && args.command)
      throw new UsageError("Only `connection add` takes a command after --.");
    await action({ ...args, positionals: actionArguments }, openSession(args.flags));
  },
});

type Action = (args: Parsed, session: Session) => Promise<void>;

const withHubOfOwner = (
  { flags }: Parsed,
  session: Session,
  options: Pick<WithHubOptions, "create">,
  work: (hub: HubClient) => Promise<void>,
): Promise<void> =>
  withHub(session, { ...options, chooseTenant: ownerTenant(flags, "connections") }, work);

const add: Action = async (args, session) => {
  const { flags, command } = args;
  const { settings } = session;
  const [name, url] = args.positionals;
  if (name === undefined || (url === undefined) === (command === undefined))
    throw new UsageError(
      "Name the connection and its server: `npx @signalbox/cli connection add NAME URL`, or `add NAME -- COMMAND`.",
    );
  const body = {
    name,
    ...(command === undefined ? { url } : { command: command[0], args: command.slice(1) }),
    ...(await credentialsOf(args)),
  };
  await withHubOfOwner(args, session, { create: true }, async (hub) => {
    const added = await hub.post("/api/connections", { body }).catch(rethrowAsUsageError);
    if (flags.json) return print(JSON.stringify(added));
    print(`${statusMark(added)} ${bold(added.id)}  ${dim(serverOf(added))}`);
    print(`  ${describeStatus(added)}`);
    if (added.trigger_count > 0)
      print(
        dim(`  To start a flow with its triggers, use the source ${added.id} in an Event node.`),
      );
    if (added.status === "needs_authorization")
      print(dim(`  \`${program} open${sameHubFlags(settings)}\` opens the web UI.`));
    if (added.status === "failed")
      print(
        dim(
          `  It is stored, and the hub checks it again later. To check it now: ${checkCommand(added, settings)}`,
        ),
      );
  });
};

async function credentialsOf({ flags, lists }: Parsed) {
  const headers = lists.header?.map((assignment): [string, string] => {
    const [header = "", variable = ""] = assignment.split("=", 2);
    if (!header || !variable)
      throw new UsageError("--header must be NAME=VARIABLE, such as --header X-Api-Key=API_KEY.");
    return [header, readVariable(variable, "--header")];
  });
  const env = lists.env?.map((variable): [string, string] => [
    variable,
    readVariable(variable, "--env"),
  ]);
  const auth = await authOf(flags);
  return {
    ...(headers && { headers: Object.fromEntries(headers) }),
    ...(auth && { auth }),
    ...(env && { env: Object.fromEntries(env) }),
  };
}

function readVariable(variable: string, flag: string): string {
  const value = process.env[variable];
  if (!value)
    throw new UsageError(`${flag}: the environment variable ${variable} is not set or empty.`);
  return value;
}

async function authOf(flags: Parsed["flags"]) {
  const clientId = asString(flags["client-id"]);
  const clientSecret = readSecret(process.env, CLIENT_SECRET_VARIABLE);
  const token = flags["token-stdin"]
    ? await readTokenFromStdin()
    : readSecret(process.env, TOKEN_VARIABLE);
  if (flags.oauth) {
    if (token !== undefined || flags["token-url"] !== undefined)
      throw new UsageError(
        `--oauth cannot be combined with a bearer token (${TOKEN_VARIABLE}, --token-stdin) or --token-url.`,
      );
    return {
      type: "oauth" as const,
      grant: "authorization_code" as const,
      client_id: clientId,
      client_secret: clientId === undefined ? undefined : clientSecret,
      scope: asString(flags.scope),
    };
  }
  if (clientId === undefined) {
    for (const flag of ["token-url", "scope"])
      if (flags[flag] !== undefined)
        throw new UsageError(
          `--${flag} needs --client-id${flag === "scope" ? " or --oauth" : ""}.`,
        );
    return token === undefined ? undefined : { type: "bearer" as const, token };
  }
  if (token !== undefined)
    throw new UsageError(
      `--client-id cannot be combined with a bearer token (${TOKEN_VARIABLE}, --token-stdin).`,
    );
  if (clientSecret === undefined)
    throw new UsageError(
      `--client-id needs the secret of the client in ${CLIENT_SECRET_VARIABLE}.`,
    );
  return {
    type: "oauth" as const,
    client_id: clientId,
    client_secret: clientSecret,
    token_url: asString(flags["token-url"]),
    scope: asString(flags.scope),
  };
}

async function readTokenFromStdin(): Promise<string> {
  let input = "";
  for await (const chunk of process.stdin) input += String(chunk);
  if (!input.trim()) throw new UsageError("--token-stdin: standard input has no token.");
  return input.trim();
}

const list: Action = (args, session) =>
  withHubOfOwner(args, session, { create: false }, async (hub) => {
    const items = await hub.all("/api/connections");
    if (args.flags.json) return print(JSON.stringify(items));
    if (items.length === 0)
      return print(
        `No connections. Add one with \`${program} connection add NAME URL${sameHubFlags(session.settings)}\`.`,
      );
    print(
      table([
        ["ID", "NAME", "STATUS", "TOOLS", "TRIGGERS", "SERVER"],
        ...items.map((item) => [
          item.id,
          item.name,
          item.status,
          String(item.tool_count),
          String(item.trigger_count),
          serverOf(item),
        ]),
      ]),
    );
    for (const { id, error } of items) if (error) print(`${red("✗")} ${id}: ${error}`);
  });

const check: Action = (args, session) =>
  withHubOfOwner(args, session, { create: false }, async (hub) => {
    const [givenId] = args.positionals;
    const ids =
      givenId === undefined ? (await hub.all("/api/connections")).map(({ id }) => id) : [givenId];
    const checked: Connection[] = [];
    for (const id of ids) {
      const view = await hub
        .post("/api/connections/:connection/check", paramsOf(id))
        .catch(explainUnknownId(session.settings));
      checked.push(view);
      if (!args.flags.json) print(`${statusMark(view)} ${bold(view.id)}  ${describeStatus(view)}`);
    }
    if (args.flags.json) print(JSON.stringify(givenId === undefined ? checked : checked[0]));
    else if (checked.length === 0) print("No connections.");
    if (checked.some(({ status }) => status !== "ok")) process.exitCode = 1;
  });

const remove: Action = (args, session) =>
  withHubOfOwner(args, session, { create: false }, async (hub) => {
    const [id = ""] = args.positionals;
    const { items: subscriptions } = await hub
      .get("/api/connections/:connection/subscriptions", paramsOf(id))
      .catch(explainUnknownId(session.settings));
    await hub
      .delete("/api/connections/:connection", paramsOf(id))
      .catch(explainUnknownId(session.settings));
    if (args.flags.json) return print(JSON.stringify({ id, removed: true }));
    print(`${green("✓")} removed; its events are kept`);
    if (subscriptions.length > 0)
      print(
        `${yellow("!")} ${pluralize(subscriptions.length, "trigger")} of published flows subscribed to it, and will no longer fire.`,
      );
  });

const statusMark = ({ status }: Connection): string =>
  ({
    ok: green("✓"),
    failed: red("✗"),
    unknown: yellow("?"),
    needs_authorization: yellow("!"),
  })[status];

const pluralize = (count: number, noun: string): string =>
  `${count} ${noun}${count === 1 ? "" : "s"}`;

function describeStatus({ status, error, tool_count, trigger_count }: Connection): string {
  if (status === "failed" || status === "needs_authorization") return error ?? status;
  if (status === "unknown") return "not checked yet: a running hub checks it";
  return `${pluralize(tool_count, "tool")}, ${pluralize(trigger_count, "trigger")}`;
}

const serverOf = ({ url, command, args }: Connection): string =>
  url ?? [command, ...args].join(" ");

const checkCommand = ({ id }: Connection, settings: ClientSettings): string =>
  `${program} connection check ${id}${sameHubFlags(settings)}`;

/** Replaces an empty id with "-", which is no id. Otherwise, the path would be that of the list. */
const paramsOf = (id: string) => ({ params: { connection: id || "-" } });

const explainUnknownId =
  (settings: ClientSettings) =>
  (error: unknown): never => {
    if (!(error instanceof HubRequestFailed) || error.status !== 404) throw error;
    throw new UsageError(
      `Missing or unknown ID. \`npx @signalbox/cli connection list${sameHubFlags(settings)}\` shows the ids.`,
    );
  };

/** The fields of the request come from the command line, so an invalid field is a usage error. */
function rethrowAsUsageError(error: unknown): never {
  if (error instanceof HubRequestFailed && error.code === "invalid")
    throw new UsageError(error.message);
  throw error;
}
