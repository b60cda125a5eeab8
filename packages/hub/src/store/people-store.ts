/** People who sign in with GitHub, and the tenants that they may access. */

/** `member`: the inbox and runs. `admin`: everything of the tenant. */
export type Role = "member" | "admin";

export interface Membership {
  tenant: string;
  role: Role;
}

export interface Person {
  /** Such as `github:583231`: logins can be renamed and reused. */
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
   * `sealed` is still this value: a slow check must not undo a later sign-in. Returns whether it did.
   */
  putPerson(person: Person, ifSealed?: string): Promise<boolean>;
  getPerson(id: string): Promise<Person | undefined>;
  /**
   * Returns the person to one of several concurrent callers, until the lease ends or `putPerson`
   * releases it: GitHub accepts a refresh token once. Undefined for the others.
   */
  leasePerson(id: string, now: number, until: number): Promise<Person | undefined>;
  /**
   * Removes the tokens at GitHub and the memberships, and revokes all tokens, sessions and OAuth grants of the person.
   * False if `sealed` is no longer the stored value.
   */
  endPerson(id: string, sealed: string, at: number): Promise<boolean>;
  /** Removes people without valid tokens whom GitHub last confirmed before this time. Returns their number. */
  sweepPeople(checkedBefore: number, limit: number): Promise<number>;
}
