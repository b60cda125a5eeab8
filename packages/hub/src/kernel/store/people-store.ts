/** People who sign in with GitHub, and the tenants that they may access. */

/** `member`: may access the tenant's inbox and runs. `admin`: may access all data of the tenant. */
export type Role = "member" | "admin";

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

export interface PeopleStore {
  /**
   * Creates or replaces a person with all memberships. With `ifSealed`, replaces only a person whose
   * `sealed` is still this value: a slow check must not undo a later sign-in. Returns whether the person
   * was stored.
   */
  putPerson(person: Person, ifSealed?: string): Promise<boolean>;
  getPerson(id: string): Promise<Person | undefined>;
  /**
   * Leases the person until `until`, or until `putPerson`. Returns undefined if another caller has the
   * lease: only one may refresh the person's tokens, because GitHub accepts a refresh token once.
   */
  leasePerson(id: string, now: number, until: number): Promise<Person | undefined>;
  /**
   * Removes the person's tokens at GitHub and memberships, and revokes all of the person's tokens,
   * sessions and OAuth grants in the hub. False if `sealed` is no longer the stored value.
   */
  endPerson(id: string, sealed: string, at: number): Promise<boolean>;
  /**
   * Removes people who have no valid token or grant, and whom GitHub last confirmed before this time.
   * Returns their number.
   */
  sweepPeople(checkedBefore: number, limit: number): Promise<number>;
}
