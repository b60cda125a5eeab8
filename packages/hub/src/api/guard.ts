/** Who may ask: a token with the scope for it, and no web page of another site. */

import { issuesOf } from "@signalbox/rules/flows/issues.ts";
import type { Context } from "hono";
import { z } from "zod";
import { PROBLEM_TYPE, type Problem, problem } from "../lib/problem.ts";
import { RequestError, type RequestErrorCode } from "../lib/request-error.ts";
import type { Scope } from "../store/store.ts";
import { type Access, type Accesses, allows, deniedWords } from "../tenants/access.ts";
import type { IsOurOrigin } from "./our-host.ts";

export interface GuardOptions {
  accesses: Accesses;
  /** Names and addresses under which this hub may be asked; a DNS trick uses another. */
  isOurHost: (host: string) => boolean;
  isOurOrigin: IsOurOrigin;
  /** Where others reach this hub; left out: where they asked. */
  publicUrl?: string | undefined;
}

/** What is `isShared` by all tenants asks for none. */
export type Guard = (
  c: Context,
  scope: Scope | undefined,
  isShared?: boolean,
) => Promise<Access | Response>;

export function createGuard(options: GuardOptions): Guard {
  const { accesses } = options;
  return async (c, scope, isShared = false) => {
    const stranger = wrongHost(c, options) ?? foreignPage(c, options);
    if (stranger) return stranger;
    const tenant = c.req.query("tenant") ?? c.req.header("x-signalbox-tenant");
    const access = await accesses.check(c.req.header("authorization"), tenant);
    if (typeof access === "string")
      return refused(401, `token_${access}`, "Unauthorized", deniedWords[access], {
        "www-authenticate": `Bearer resource_metadata="${reachedAt(c, options)}/.well-known/oauth-protected-resource"`,
      });
    if (access.tenants.length === 0 && !(isShared && tenant === undefined))
      return refused(
        403,
        "no_tenant",
        "Forbidden",
        tenant === undefined
          ? "This token is for all tenants: say whose data you mean with ?tenant=…"
          : "This token does not open that tenant's data.",
      );
    if (scope !== undefined && !allows(access, scope))
      return refused(403, "insufficient_scope", "Forbidden", `The token lacks the scope ${scope}.`);
    return access;
  };
}

export const refused = (
  status: number,
  code: string,
  title: string,
  detail: string,
  headers: Record<string, string> = {},
  errors?: Problem["errors"],
) =>
  new Response(JSON.stringify(problem(status, code, title, detail, errors)), {
    status,
    headers: { "content-type": PROBLEM_TYPE, ...headers },
  });

const FAULTS: Record<RequestErrorCode, { status: number; title: string }> = {
  invalid: { status: 400, title: "Invalid request" },
  forbidden: { status: 403, title: "Forbidden" },
  not_found: { status: 404, title: "Not found" },
  conflict: { status: 409, title: "Conflict" },
  changed: { status: 409, title: "Changed meanwhile" },
  busy: { status: 429, title: "Too much at once" },
};

/** The answer to what a caller can put right; anything else is thrown on. */
export function faulty(error: unknown): Response {
  const fault = error instanceof z.ZodError ? faultOf(error) : error;
  if (!(fault instanceof RequestError)) throw error;
  const { status, title } = FAULTS[fault.code];
  const detail =
    fault.errors.length > 1 || fault.code === "not_found" || fault.code === "conflict"
      ? fault.message
      : `${fault.field}: ${fault.message}`;
  const headers: Record<string, string> = fault.code === "busy" ? { "retry-after": "1" } : {};
  return refused(status, fault.code, title, detail, headers, [...fault.errors]);
}

export function faultOf(error: z.ZodError, where = "body"): RequestError {
  const errors = issuesOf(error).map(({ keys, message }) => ({
    path: keys.map(String).join(".") || where,
    message,
  }));
  const detail = errors.map(({ path, message }) => `${path}: ${message}`).join("; ");
  const [first] = errors;
  return errors.length === 1 && first
    ? new RequestError("invalid", first.path, first.message)
    : new RequestError("invalid", first?.path ?? where, detail, errors);
}

/** The address of this hub for whoever asks, without a slash at its end. */
export const reachedAt = (c: Context, { publicUrl }: Pick<GuardOptions, "publicUrl">): string =>
  publicUrl?.replace(/\/$/, "") ?? new URL(c.req.url).origin;

export function wrongHost(
  c: Context,
  { isOurHost }: Pick<GuardOptions, "isOurHost">,
): Response | undefined {
  if (isOurHost(c.req.header("host") ?? "")) return undefined;
  return refused(
    421,
    "wrong_host",
    "Misdirected request",
    "This hub is not known under that name. Set SIGNALBOX_PUBLIC_URL to the address that you use.",
  );
}

/** Tokens are not cookies, yet a page of another site should not even get to try. */
function foreignPage(
  c: Context,
  { isOurOrigin }: Pick<GuardOptions, "isOurOrigin">,
): Response | undefined {
  const origin = c.req.header("origin");
  if (origin === undefined || isOurOrigin(origin, c.req.header("host") ?? "")) return undefined;
  return refused(
    403,
    "foreign_origin",
    "Forbidden",
    "Requests from pages of other sites are refused.",
  );
}
