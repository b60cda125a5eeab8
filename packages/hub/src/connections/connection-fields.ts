/** The fields of a connection in requests, and the rules for their combinations. */
import type {
  ChangedConnectionFields,
  NewConnectionFields,
} from "@signalbox/contract/connection-fields.ts";
import { type RequestError, validationError } from "../kernel/lib/request-error.ts";
import type { Credentials } from "./credentials.ts";
import type { ConnectionTarget } from "./model.ts";

type Fields = Omit<ChangedConnectionFields, "name">;
type Field = keyof Fields;

/** The fields that are only allowed with each kind of target. */
const ONLY_WITH: Record<"url" | "command", readonly Field[]> = {
  url: ["headers", "auth"],
  command: ["args", "env"],
};

export function targetOf(fields: NewConnectionFields): ConnectionTarget {
  const { url, command, args = [] } = fields;
  if (url !== undefined && command !== undefined)
    throw invalid("command", "must not be combined with url: a connection has one of them");
  if (url !== undefined) return checkFields("url", fields, { url });
  if (command !== undefined) return checkFields("command", fields, { command, args });
  throw invalid("url", "is missing: set url to the URL of the MCP server, or set command");
}

/** The target of an existing connection after a change. */
export function changedTarget(target: ConnectionTarget, fields: Fields): ConnectionTarget {
  if ("url" in target) {
    if (fields.command !== undefined) throw wrongKind("command", "URL");
    return checkFields("url", fields, { url: fields.url ?? target.url });
  }
  if (fields.url !== undefined) throw wrongKind("url", "command");
  const { command = target.command, args = target.args } = fields;
  return checkFields("command", fields, { command, args });
}

/**
 * The credentials after a change. Fields that the request omits are kept, but only for the same origin:
 * otherwise a client could change the URL to its own server, and read them there.
 */
export function changedCredentials(
  { from, to }: { from: ConnectionTarget; to: ConnectionTarget },
  stored: Credentials,
  fields: Fields,
): Credentials {
  const merged = { ...stored, ...fields };
  const missing = isSameOrigin(from, to)
    ? []
    : (["headers", "auth"] as const).filter(
        (field) => fields[field] === undefined && stored[field],
      );
  if (missing.length > 0)
    throw validationError(
      missing.map((path) => ({
        path,
        message: "must be set again, or be null: the new URL has another origin",
      })),
    );
  const { headers, auth, env } = merged;
  return { ...(headers && { headers }), ...(auth && { auth }), ...(env && { env }) };
}

/** Also true for commands, which have no origin. */
export const isSameOrigin = (a: ConnectionTarget, b: ConnectionTarget): boolean =>
  !("url" in a && "url" in b) || new URL(a.url).origin === new URL(b.url).origin;

/** Returns the target. Throws if there are fields of the other kind of target. */
function checkFields<Target extends ConnectionTarget>(
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

const wrongKind = (field: string, kind: string): RequestError =>
  invalid(field, `cannot be set: this connection has a ${kind}; create another connection`);

const invalid = (path: string, message: string): RequestError =>
  validationError([{ path, message }]);
