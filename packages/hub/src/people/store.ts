/** People and their memberships. */

import { first, insert, query, type Verb } from "../kernel/store/sql.ts";
import { read, write } from "../kernel/store/verb.ts";
import type { Membership, Person } from "./model.ts";

export * from "./tables.ts";

/**
 * Creates or replaces a person with all memberships. With `ifSealed`, replaces only a person whose
 * `sealed` is still this value: a slow check must not undo a later sign-in. Returns whether the person
 * was stored.
 */
export const putPerson = write(
  "registry",
  function* (person: Person, ifSealed?: string): Verb<boolean> {
    const { id, login, name, avatar, sealed, checked_at, memberships } = person;
    const fields = [login, name, avatar, sealed, checked_at];
    const stored =
      ifSealed === undefined
        ? yield* query(
            "INSERT INTO people (id, login, name, avatar, sealed, checked_at) VALUES (?, ?, ?, ?, ?, ?) " +
              "ON CONFLICT (id) DO UPDATE SET login = excluded.login, name = excluded.name, avatar = excluded.avatar, " +
              "sealed = excluded.sealed, checked_at = excluded.checked_at, leased_until = 0 RETURNING id",
            [id, ...fields],
          )
        : yield* query(
            "UPDATE people SET login = ?, name = ?, avatar = ?, sealed = ?, checked_at = ?, leased_until = 0 " +
              "WHERE id = ? AND sealed = ? RETURNING id",
            [...fields, id, ifSealed],
          );
    if (stored.length === 0) return false;
    yield* removeMemberships(id);
    yield* insert(
      "memberships",
      ["person", "tenant_id", "role"],
      memberships.map(({ tenant, role }) => [id, tenant, role]),
    );
    return true;
  },
);

export const getPerson = read("registry", function* (id: string): Verb<Person | undefined> {
  // One statement, so that a person is never read with the memberships of another commit.
  const rows = yield* query<Omit<Person, "memberships"> & Partial<Membership>>(
    "SELECT people.id, login, people.name, avatar, sealed, checked_at, tenant_id AS tenant, role FROM people " +
      // GitHub still reports the memberships of a tenant whose data was deleted here.
      "LEFT JOIN memberships ON person = people.id AND NOT EXISTS " +
      "(SELECT 1 FROM tenants WHERE tenants.id = memberships.tenant_id AND deleted_at IS NOT NULL) " +
      "WHERE people.id = ? ORDER BY tenant_id",
    [id],
  );
  if (!rows[0]) return undefined;
  const { tenant: _, role: __, ...person } = rows[0];
  const memberships = rows.flatMap(({ tenant, role }) =>
    tenant && role ? [{ tenant, role }] : [],
  );
  return { ...person, memberships };
});

/**
 * Leases the person until `until`, or until `putPerson`. Returns undefined if another caller has the
 * lease: only one may refresh the person's tokens, because GitHub accepts a refresh token once.
 */
export const leasePerson = write(
  "registry",
  function* (id: string, now: number, until: number): Verb<Person | undefined> {
    const leased = yield* first(
      "UPDATE people SET leased_until = ? WHERE id = ? AND leased_until <= ? RETURNING id",
      [until, id, now],
    );
    return leased && (yield* getPerson.call(this, id));
  },
);

/**
 * Removes the person's tokens at GitHub and memberships, and revokes all of the person's tokens,
 * sessions and OAuth grants in the hub. False if `sealed` is no longer the stored value.
 */
export const endPerson = write(
  "registry",
  function* (id: string, sealed: string, at: number): Verb<boolean> {
    const ended = yield* first(
      "UPDATE people SET sealed = NULL, leased_until = 0 WHERE id = ? AND sealed = ? RETURNING id",
      [id, sealed],
    );
    if (!ended) return false;
    yield* removeMemberships(id);
    yield* query(
      "UPDATE oauth_grants SET status = 'revoked' WHERE person = ? AND status IN ('approved', 'active')",
      [id],
    );
    yield* query("UPDATE tokens SET revoked_at = ? WHERE person = ? AND revoked_at IS NULL", [
      at,
      id,
    ]);
    return true;
  },
);

/**
 * Removes people who have no valid token or grant, and whom GitHub last confirmed before this time.
 * Returns their number.
 */
export const sweepPeople = write(
  "registry",
  function* (checkedBefore: number, limit: number): Verb<number> {
    // `checked_at` is compared again in the row to be deleted: the person may have signed in meanwhile.
    const removed = yield* query<{ id: string }>(
      "DELETE FROM people WHERE checked_at < ? AND id IN (SELECT id FROM people WHERE checked_at < ? " +
        "AND NOT EXISTS (SELECT 1 FROM tokens WHERE person = people.id AND revoked_at IS NULL " +
        "AND (expires_at IS NULL OR expires_at > ?)) " +
        "AND NOT EXISTS (SELECT 1 FROM oauth_grants WHERE person = people.id AND status IN ('approved', 'active')) " +
        "ORDER BY checked_at LIMIT ?) RETURNING id",
      [checkedBefore, checkedBefore, checkedBefore, limit],
    );
    for (const { id } of removed) yield* removeMemberships(id);
    return removed.length;
  },
);

const removeMemberships = (person: string): Verb<unknown> =>
  query("DELETE FROM memberships WHERE person = ?", [person]);
