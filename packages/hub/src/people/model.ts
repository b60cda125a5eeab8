import type { Role } from "../kernel/access/scopes.ts";

export interface Membership {
  tenant: string;
  role: Role;
}

export interface Person {
  /** Such as `github:583231`. It is not the login, because logins can be renamed and reused. */
  id: string;
  login: string;
  name: string | null;
  avatar: string | null;
  /** The person's tokens at GitHub, encrypted by the caller. Null after `endPerson`. */
  sealed: string | null;
  /** When GitHub last confirmed the memberships. */
  checked_at: number;
  /** Sorted by tenant. */
  memberships: Membership[];
}
