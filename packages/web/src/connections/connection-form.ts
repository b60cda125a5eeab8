/** What the form of a connection holds, and the request that it becomes. */
import { isObject, type JsonObject } from "@signalbox/rules/json.ts";
import type { Connection } from "../api/types.ts";

export type Pair = readonly [name: string, value: string];

/** `keep`: the stored credentials stay, which no request can read. */
export type Access = "keep" | "none" | "bearer" | "sign_in" | "oauth";

export interface ConnectionForm {
  name: string;
  reach: "url" | "command";
  url: string;
  command: string;
  /** One per line. */
  args: string;
  access: Access;
  token: string;
  clientId: string;
  clientSecret: string;
  tokenUrl: string;
  scope: string;
  audience: string;
  /** Undefined: those that are stored stay. */
  headers: readonly Pair[] | undefined;
  /** Undefined: those that are stored stay. */
  env: readonly Pair[] | undefined;
}

type Stored = Pick<Connection, "name" | "url" | "command" | "args" | "credentials">;

export const newForm: ConnectionForm = {
  name: "",
  reach: "url",
  url: "",
  command: "",
  args: "",
  access: "none",
  token: "",
  clientId: "",
  clientSecret: "",
  tokenUrl: "",
  scope: "",
  audience: "",
  headers: [],
  env: [],
};

export function formOf({ name, url, command, args, credentials }: Stored): ConnectionForm {
  const auth = storedAuth(credentials);
  const text = (field: string): string => {
    const value = auth?.[field];
    return typeof value === "string" ? value : "";
  };
  return {
    ...newForm,
    name,
    reach: url === null ? "command" : "url",
    url: url ?? "",
    command: command ?? "",
    args: args.join("\n"),
    access: auth ? "keep" : "none",
    clientId: text("client_id"),
    tokenUrl: text("token_url"),
    scope: text("scope"),
    audience: text("audience"),
    headers: namesIn(credentials.headers).length > 0 ? undefined : [],
    env: namesIn(credentials.env).length > 0 ? undefined : [],
  };
}

const storedAuth = ({ auth }: Stored["credentials"]): JsonObject | undefined =>
  isObject(auth) ? auth : undefined;

/** The names of stored headers or variables; their values are never returned. */
export const namesIn = (stored: unknown): string[] =>
  Array.isArray(stored) ? stored.filter((name) => typeof name === "string") : [];

/** Whether a person authorizes the hub at the server. */
export const isSignIn = ({ auth }: Stored["credentials"]): boolean =>
  isObject(auth) && auth.grant === "authorization_code";

/** How the hub signs in at the server, for people. */
export function accessText({ auth, headers, env }: Stored["credentials"]): string {
  const kind = isObject(auth) ? auth.type : undefined;
  const parts = [
    ...(kind === "oauth" && isObject(auth)
      ? [auth.client_id === undefined ? "OAuth" : `OAuth client ${auth.client_id}`]
      : []),
    ...(kind === "bearer" ? ["bearer token"] : []),
    ...[...namesIn(headers), ...namesIn(env)],
  ];
  return parts.join(", ");
}

/** What is wrong with headers or variables. Stored values cannot be read, so a blank would erase one. */
export function pairsProblem(
  pairs: readonly Pair[] | undefined = [],
  stored: readonly string[] = [],
): string | undefined {
  const names = pairs.map(([name]) => name.trim());
  const twice = names.find((name, at) => name !== "" && names.indexOf(name) < at);
  if (twice !== undefined) return `${twice} is given twice`;
  const [blank] = pairs.find(([name, value]) => value === "" && stored.includes(name.trim())) ?? [];
  return blank && `give the value of ${blank} again, or remove it`;
}

export function isComplete(form: ConnectionForm, stored: Stored["credentials"] = {}): boolean {
  const { name, reach, url, command, access, token, clientId, clientSecret } = form;
  if (name.trim() === "") return false;
  if (reach === "command")
    return command.trim() !== "" && !pairsProblem(form.env, namesIn(stored.env));
  if (url.trim() === "" || pairsProblem(form.headers, namesIn(stored.headers))) return false;
  if (access === "bearer") return token !== "";
  // The server asks for the person; only a secret needs its client.
  if (access === "sign_in") return clientSecret === "" || clientId.trim() !== "";
  return access !== "oauth" || (clientId.trim() !== "" && clientSecret !== "");
}

/** The body of the request; `before` is the connection that it changes. */
export function bodyOf(form: ConnectionForm, before?: Stored): JsonObject {
  const { name, reach, url, command, args, headers, env } = form;
  const stored = before?.credentials ?? {};
  if (reach === "command")
    return {
      name: name.trim(),
      command: command.trim(),
      args: args.split("\n").filter((line) => line !== ""),
      ...pairsField("env", env, namesIn(stored.env)),
    };
  return {
    name: name.trim(),
    url: url.trim(),
    ...authField(form, storedAuth(stored) !== undefined),
    ...pairsField("headers", headers, namesIn(stored.headers)),
  };
}

function authField(form: ConnectionForm, hasStored: boolean): JsonObject {
  const { access, token, clientId, clientSecret, tokenUrl, scope, audience } = form;
  if (access === "keep") return {};
  if (access === "none") return hasStored ? { auth: null } : {};
  if (access === "bearer") return { auth: { type: "bearer", token } };
  if (access === "sign_in")
    return {
      auth: {
        type: "oauth",
        grant: "authorization_code",
        ...given("client_id", clientId),
        ...given("client_secret", clientSecret),
        ...given("scope", scope),
      },
    };
  return {
    auth: {
      type: "oauth",
      grant: "client_credentials",
      client_id: clientId.trim(),
      client_secret: clientSecret,
      ...given("token_url", tokenUrl),
      ...given("scope", scope),
      ...given("audience", audience),
    },
  };
}

const given = (field: string, text: string): JsonObject =>
  text.trim() === "" ? {} : { [field]: text.trim() };

/** An empty list removes what is stored. */
function pairsField(
  field: string,
  pairs: readonly Pair[] | undefined,
  stored: readonly string[],
): JsonObject {
  if (pairs === undefined) return {};
  const named = pairs.filter(([name]) => name.trim() !== "");
  if (named.length > 0)
    return { [field]: Object.fromEntries(named.map(([name, value]) => [name.trim(), value])) };
  return stored.length > 0 ? { [field]: null } : {};
}
