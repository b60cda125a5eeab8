/** What a session may do in a tenant. */
import type { Session } from "../api/types.ts";

export type Role = "admin" | "member";

/** `tenant` is undefined if the session has one tenant only. */
export function roleIn(
  { person, scopes, tenants }: Pick<Session, "person" | "scopes" | "tenants">,
  tenant: string | undefined,
): Role {
  if (!person) return scopes.includes("admin") ? "admin" : "member";
  return person.roles[tenant ?? tenants[0] ?? ""] ?? "member";
}
