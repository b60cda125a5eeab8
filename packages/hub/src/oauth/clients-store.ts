/**
 * Clients of the OAuth authorization server. A client that has registered itself is
 * `unused` until a person approves a grant of it: anonymous requests create such rows, so their number
 * is limited.
 */

import { execute, first, query, type Value, type Verb } from "../kernel/store/sql.ts";
import { read, write } from "../kernel/store/verb.ts";
import type { OAuthClient, RegistrationLimit, RegistrationResult } from "./model.ts";

const COLUMNS = "id, name, redirect_uris, grant_types, created_at, expires_at";

const toValues = (client: OAuthClient): Value[] => {
  const { id, name, redirect_uris, grant_types, created_at, expires_at } = client;
  const lists = [JSON.stringify(redirect_uris), JSON.stringify(grant_types)];
  return [id, name, ...lists, created_at, expires_at];
};

/** Creates or replaces a client with a metadata document. */
export const putOAuthClient = write("registry", function* (client: OAuthClient): Verb<void> {
  yield* execute(
    `INSERT INTO oauth_clients (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?) ` +
      "ON CONFLICT (id) DO UPDATE SET name = excluded.name, redirect_uris = excluded.redirect_uris, " +
      "grant_types = excluded.grant_types, expires_at = excluded.expires_at",
    toValues(client),
  );
});

/**
 * Creates a client that has registered itself.
 *
 * On PostgreSQL, concurrent registrations can exceed the limit, since they do not see each other.
 */
export const registerOAuthClient = write(
  "registry",
  function* (
    client: OAuthClient,
    { maxUnused, removableBefore }: RegistrationLimit,
  ): Verb<RegistrationResult> {
    const { skipLocked } = this.dialect;
    const unused = yield* first<{ count: number; oldest: number }>(
      "SELECT count(*) AS count, min(created_at) AS oldest FROM oauth_clients WHERE unused = 1",
    );
    const excess = Number(unused?.count) + 1 - maxUnused;
    if (excess > 0) {
      // The outer condition keeps a client whose grant another transaction has approved meanwhile.
      const removed = yield* query(
        "DELETE FROM oauth_clients WHERE unused = 1 AND id IN (SELECT id FROM oauth_clients " +
          `WHERE unused = 1 AND created_at < ? ORDER BY created_at LIMIT ?${skipLocked}) RETURNING id`,
        [removableBefore, excess],
      );
      if (removed.length === 0) return { outcome: "full", oldest: Number(unused?.oldest) };
    }
    yield* execute(
      `INSERT INTO oauth_clients (${COLUMNS}, unused) VALUES (?, ?, ?, ?, ?, ?, 1)`,
      toValues(client),
    );
    return { outcome: "registered" };
  },
);

export const markUsed = (id: string): Verb<void> =>
  execute("UPDATE oauth_clients SET unused = 0 WHERE id = ? AND unused = 1", [id]);

interface ClientRow extends Omit<OAuthClient, "redirect_uris" | "grant_types"> {
  redirect_uris: string;
  grant_types: string;
}

export const getOAuthClient = read("registry", function* (id: string): Verb<
  OAuthClient | undefined
> {
  const row = yield* first<ClientRow>(`SELECT ${COLUMNS} FROM oauth_clients WHERE id = ?`, [id]);
  return (
    row && {
      ...row,
      redirect_uris: JSON.parse(row.redirect_uris) as string[],
      grant_types: JSON.parse(row.grant_types) as string[],
    }
  );
});
