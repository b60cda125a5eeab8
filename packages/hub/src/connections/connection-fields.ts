/** The fields of a connection in requests, and the rules that they follow together. */
import { z } from "zod";
import { type RequestError, validationError } from "../lib/request-error.ts";
import type { ConnectionTarget } from "../store/connection-store.ts";
import { type Credentials, credentialFields } from "./credentials.ts";
import { string, text, trimmedText } from "./text-field.ts";

const name = trimmedText(200).regex(/^\P{Cc}*$/u, "must not contain control characters");

const url = text(2_000).superRefine((given, context) => {
  const problem = urlProblem(given);
  if (problem) context.addIssue({ code: "custom", message: problem });
});

function urlProblem(given: string): string | undefined {
  const parsed = URL.parse(given);
  if (!parsed || !/^https?:$/.test(parsed.protocol))
    return "must be the http(s) URL of an MCP server, such as https://example.com/mcp";
  if (parsed.username || parsed.password)
    return "must not contain credentials: use auth or headers";
  return parsed.hash ? "must not contain a fragment (#…)" : undefined;
}

const targetFields = {
  url: url.optional().describe("The URL of an MCP server that speaks Streamable HTTP."),
  command: text(1_000)
    .optional()
    .describe("Instead of `url`: a program on the hub's machine that speaks MCP over stdio."),
  args: z
    .array(string().max(4_000, "must have at most 4000 characters"), "must be a list of strings")
    .max(100, "must have at most 100 items")
    .optional()
    .describe("The arguments of `command`. No shell interprets them."),
};

export const newConnectionFields = z.strictObject({ name, ...targetFields, ...credentialFields });
export type NewConnectionFields = z.output<typeof newConnectionFields>;

export const changedConnectionFields = z.strictObject({
  name: name.optional(),
  ...targetFields,
  headers: credentialFields.headers.nullable().describe("null removes all headers."),
  auth: credentialFields.auth.nullable().describe("null removes the credentials."),
  env: credentialFields.env.nullable().describe("null removes all variables."),
});
export type ChangedConnectionFields = z.output<typeof changedConnectionFields>;

type Fields = Omit<ChangedConnectionFields, "name">;
type Field = keyof Fields;

/** The fields that belong to each kind of target. */
const ONLY_WITH: Record<"url" | "command", readonly Field[]> = {
  url: ["headers", "auth"],
  command: ["args", "env"],
};

export function targetOf(fields: NewConnectionFields): ConnectionTarget {
  const { url, command, args = [] } = fields;
  if (url !== undefined && command !== undefined)
    throw invalid("command", "must not be combined with url: a connection has one of them");
  if (url !== undefined) return only("url", fields, { url });
  if (command !== undefined) return only("command", fields, { command, args });
  throw invalid("url", "is missing: give the URL of the MCP server, or a command");
}

/** The target of an existing connection after a change. */
export function changedTarget(target: ConnectionTarget, fields: Fields): ConnectionTarget {
  if ("url" in target) {
    if (fields.command !== undefined) throw otherKind("command", "URL");
    return only("url", fields, { url: fields.url ?? target.url });
  }
  if (fields.url !== undefined) throw otherKind("url", "command");
  const { command = target.command, args = target.args } = fields;
  return only("command", fields, { command, args });
}

/**
 * The credentials after a change. They are kept if they are not given, but never for another origin:
 * a client that changes the URL could otherwise read them there.
 */
export function changedCredentials(
  { from, to }: { from: ConnectionTarget; to: ConnectionTarget },
  stored: Credentials,
  fields: Fields,
): Credentials {
  const merged = { ...stored, ...fields };
  const kept = isSameOrigin(from, to)
    ? []
    : (["headers", "auth"] as const).filter(
        (field) => fields[field] === undefined && stored[field],
      );
  if (kept.length > 0)
    throw validationError(
      kept.map((path) => ({
        path,
        message: "must be given again, or null: the URL has another origin",
      })),
    );
  const { headers, auth, env } = merged;
  return { ...(headers && { headers }), ...(auth && { auth }), ...(env && { env }) };
}

/** A command has no origin. */
export const isSameOrigin = (a: ConnectionTarget, b: ConnectionTarget): boolean =>
  !("url" in a && "url" in b) || new URL(a.url).origin === new URL(b.url).origin;

function only<Target extends ConnectionTarget>(
  kind: "url" | "command",
  fields: Fields,
  target: Target,
): Target {
  const other = kind === "url" ? "command" : "url";
  const wrong = ONLY_WITH[other].filter((field) => fields[field] != null);
  if (wrong.length > 0)
    throw validationError(
      wrong.map((path) => ({ path, message: `is only possible with ${other}, not with ${kind}` })),
    );
  return target;
}

const otherKind = (field: string, kind: string): RequestError =>
  invalid(field, `cannot be set: this connection has a ${kind}; create another connection`);

const invalid = (path: string, message: string): RequestError =>
  validationError([{ path, message }]);
