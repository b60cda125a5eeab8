/** The values of the form for a connection, and the request body that is created from them. */

import type { Connection } from "@signalbox/contract";
import { isObject, type JsonObject } from "@signalbox/rules/json.ts";
import type { BodyAt } from "../api/client.ts";

export type Pair = readonly [name: string, value: string];

/** `keep` keeps the stored credentials, which the API never returns. The last two are OAuth grants. */
export type Access = "keep" | "none" | "bearer" | "authorization_code" | "client_credentials";

export interface ConnectionForm {
  name: string;
  transport: "http" | "stdio";
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
  /** Undefined keeps the stored headers. */
  headers: readonly Pair[] | undefined;
  /** Undefined keeps the stored variables. */
  env: readonly Pair[] | undefined;
}

type StoredConnection = Pick<Connection, "name" | "url" | "command" | "args" | "credentials">;

export const emptyForm: ConnectionForm = {
  name: "",
  transport: "http",
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

export function formOf({
  name,
  url,
  command,
  args,
  credentials,
}: StoredConnection): ConnectionForm {
  const auth = storedAuth(credentials);
  const text = (field: string): string => {
    const value = auth?.[field];
    return typeof value === "string" ? value : "";
  };
  return {
    ...emptyForm,
    name,
    transport: url === null ? "stdio" : "http",
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

const storedAuth = ({ auth }: StoredConnection["credentials"]): JsonObject | undefined =>
  isObject(auth) ? auth : undefined;

/** The names of stored headers or variables; their values are never returned. */
export const namesIn = (stored: unknown): string[] =>
  Array.isArray(stored) ? stored.filter((name) => typeof name === "string") : [];

/** Whether a user must authorize the hub at the server. */
export const usesAuthorizationCode = ({ auth }: StoredConnection["credentials"]): boolean =>
  isObject(auth) && auth.grant === "authorization_code";

/** Describes the credentials to users, without secret values. */
export function accessText({ auth, headers, env }: StoredConnection["credentials"]): string {
  const kind = isObject(auth) ? auth.type : undefined;
  const parts = [
    ...(kind === "oauth" && isObject(auth)
      ? [auth.client_id === undefined ? "OAuth" : `OAuth client ${auth.client_id}`]
      : []),
    ...(kind === "bearer" ? ["bearer token"] : []),
    ...namesIn(headers),
    ...namesIn(env),
  ];
  return parts.join(", ");
}

/** Returns what is wrong with headers or variables. A blank value would erase the stored one by mistake. */
export function pairsProblem(
  pairs: readonly Pair[] | undefined = [],
  stored: readonly string[] = [],
): string | undefined {
  const names = pairs.map(([name]) => name.trim());
  const duplicate = names.find((name, index) => name !== "" && names.indexOf(name) < index);
  if (duplicate !== undefined) return `${duplicate} occurs twice: remove one of them`;
  const [blank] = pairs.find(([name, value]) => value === "" && stored.includes(name.trim())) ?? [];
  return blank && `enter the value of ${blank} again, or remove it`;
}

export function isComplete(
  form: ConnectionForm,
  stored: StoredConnection["credentials"] = {},
): boolean {
  const { name, transport, url, command, access, token, clientId, clientSecret } = form;
  if (name.trim() === "") return false;
  if (transport === "stdio")
    return command.trim() !== "" && !pairsProblem(form.env, namesIn(stored.env));
  if (url.trim() === "" || pairsProblem(form.headers, namesIn(stored.headers))) return false;
  if (access === "bearer") return token !== "";
  // Without a client id, the hub registers as a client. A secret belongs to a client, so it needs the id.
  if (access === "authorization_code") return clientSecret === "" || clientId.trim() !== "";
  return access !== "client_credentials" || (clientId.trim() !== "" && clientSecret !== "");
}

type NewBody = BodyAt<"post", "/api/connections">;
type ChangedBody = BodyAt<"patch", "/api/connections/:connection">;

/** The body of the request that adds a connection, or changes the connection `before`. */
export function bodyOf(form: ConnectionForm): NewBody;
export function bodyOf(form: ConnectionForm, before: StoredConnection): ChangedBody;
export function bodyOf(form: ConnectionForm, before?: StoredConnection): NewBody | ChangedBody {
  const { name, transport, url, command, args, headers, env } = form;
  const stored = before?.credentials ?? {};
  const newEnv = changedPairs(env, namesIn(stored.env));
  const newHeaders = changedPairs(headers, namesIn(stored.headers));
  if (transport === "stdio")
    return {
      name: name.trim(),
      command: command.trim(),
      args: args.split("\n").filter((line) => line !== ""),
      ...(newEnv !== undefined && { env: newEnv }),
    };
  return {
    name: name.trim(),
    url: url.trim(),
    ...authField(form, storedAuth(stored) !== undefined),
    ...(newHeaders !== undefined && { headers: newHeaders }),
  };
}

function authField(form: ConnectionForm, hasStored: boolean): Pick<ChangedBody, "auth"> {
  const { access, token, clientId, clientSecret, tokenUrl, scope, audience } = form;
  if (access === "keep") return {};
  if (access === "none") return hasStored ? { auth: null } : {};
  if (access === "bearer") return { auth: { type: "bearer", token } };
  if (access === "authorization_code")
    return {
      auth: {
        type: "oauth",
        grant: "authorization_code",
        ...optionalField("client_id", clientId),
        ...optionalField("client_secret", clientSecret),
        ...optionalField("scope", scope),
      },
    };
  return {
    auth: {
      type: "oauth",
      grant: "client_credentials",
      client_id: clientId.trim(),
      client_secret: clientSecret,
      ...optionalField("token_url", tokenUrl),
      ...optionalField("scope", scope),
      ...optionalField("audience", audience),
    },
  };
}

const optionalField = <Field extends string>(
  field: Field,
  text: string,
): Partial<Record<Field, string>> =>
  text.trim() === "" ? {} : ({ [field]: text.trim() } as Record<Field, string>);

/** Returns undefined if the values do not change. An empty list removes the stored values. */
function changedPairs(
  pairs: readonly Pair[] | undefined,
  stored: readonly string[],
): Record<string, string> | null | undefined {
  const named = pairs?.filter(([name]) => name.trim() !== "") ?? [];
  if (named.length > 0)
    return Object.fromEntries(named.map(([name, value]) => [name.trim(), value]));
  return pairs !== undefined && stored.length > 0 ? null : undefined;
}
