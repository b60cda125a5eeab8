import type { Session } from "@signalbox/contract";

export type Role = "admin" | "member";

/** The role of a session in a tenant. `tenant` is undefined if the session has only one tenant. */
export function roleIn(
  { person, scopes, tenants }: Pick<Session, "person" | "scopes" | "tenants">,
  tenant: string | undefined,
): Role {
  if (!person) return scopes.includes("admin") ? "admin" : "member";
  return person.roles[tenant ?? tenants[0] ?? ""] ?? "member";
}
