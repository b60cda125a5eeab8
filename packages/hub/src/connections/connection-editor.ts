/**
 * Adds, changes and checks connections. A row is stored immediately; a keeper, in any process, then
 * checks the server. The caller gets the result of the check if it is recorded within `waitMs`.
 */
import type {
  ChangedConnectionFields,
  NewConnectionFields,
} from "@signalbox/contract/connection-fields.ts";
import { RequestError } from "../kernel/lib/request-error.ts";
import type { Seal } from "../kernel/lib/seal.ts";
import type { Timers } from "../kernel/lib/timers.ts";
import type { Store } from "../store.ts";
import { changedCredentials, changedTarget, isSameOrigin, targetOf } from "./connection-fields.ts";
import { connectionId } from "./connection-id.ts";
import { sealCredentials, signInOf, unsealCredentials } from "./credentials.ts";
import type { Connection, ConnectionTarget } from "./model.ts";

export interface ConnectionEditorOptions {
  store: Pick<
    Store,
    | "createConnection"
    | "updateConnection"
    | "getConnection"
    | "touchConnection"
    | "renewSubscriptions"
    | "saveGrant"
  >;
  seal: Seal;
  timers: Pick<Timers, "now" | "after">;
  /** The result of `commandRefusal`. */
  commandRefusal: string | undefined;
  /** The maximum time to wait for the result of a check; 0 if no keeper runs. */
  waitMs: number;
}

export type ConnectionEditor = ReturnType<typeof createConnectionEditor>;

/** Longer than the time limit of a check. */
export const CHECK_WAIT_MS = 25_000;
const POLL_MS = 50;

/** New credentials are meant for the URL that the client has read, not for a URL that was set later. */
function assertSameOrigin(
  { target: before }: Connection,
  { target: after }: Connection,
  { url, headers, auth }: ChangedConnectionFields,
): void {
  if (url !== undefined || !(headers || auth) || isSameOrigin(before, after)) return;
  throw new RequestError(
    "changed",
    "url",
    "The URL of the connection was changed by another request: send the credentials for the new URL.",
  );
}

export function createConnectionEditor(options: ConnectionEditorOptions) {
  const { store, seal, timers, commandRefusal, waitMs } = options;
  const { now } = timers;

  const assertAllowed = (target: ConnectionTarget): void => {
    if ("command" in target && commandRefusal !== undefined)
      throw new RequestError("forbidden", "command", commandRefusal);
  };

  const sleep = (): Promise<void> =>
    new Promise((resolve) => void timers.after(POLL_MS, () => resolve()));

  /** Makes the connection due, and waits until a check after `lastCheckedAt` is recorded. */
  async function waitForCheck(
    { tenant, id }: Pick<Connection, "tenant" | "id">,
    lastCheckedAt: number | null,
    signal?: AbortSignal,
  ): Promise<Connection> {
    const deadline = now() + waitMs;
    for (;;) {
      const connection = await find(tenant, id);
      const isChecked = connection.status !== "unknown" && connection.checked_at !== lastCheckedAt;
      if (isChecked || now() >= deadline || signal?.aborted) return connection;
      // Repeated, because a visit for a due subscription may skip the check.
      if (connection.next_at > now()) await store.touchConnection(tenant, id, now());
      await sleep();
    }
  }

  async function find(tenant: string, id: string): Promise<Connection> {
    const connection = await store.getConnection(tenant, id);
    if (!connection)
      throw new RequestError(
        "not_found",
        "connection",
        `There is no connection ${id.slice(0, 100)}.`,
      );
    return connection;
  }

  /** Returns the columns that change. Credentials in the request are merged with the stored ones. */
  async function merge(
    connection: Connection,
    { name, ...fields }: ChangedConnectionFields,
  ): Promise<Parameters<Store["updateConnection"]>[2] & { endsGrant?: boolean }> {
    const target = changedTarget(connection.target, fields);
    const isSameTarget = JSON.stringify(target) === JSON.stringify(connection.target);
    if (!isSameTarget) assertAllowed(target);
    const hasCredentials = [fields.headers, fields.auth, fields.env].some(
      (field) => field !== undefined,
    );
    const renamed = name === undefined ? {} : { name };
    if (isSameTarget && !hasCredentials) return renamed;
    const stored = await unsealCredentials(connection.sealed, seal);
    const credentials = changedCredentials({ from: connection.target, to: target }, stored, fields);
    // Tokens that a person has granted are only valid for the OAuth settings of that time.
    const endsGrant =
      signInOf(stored) !== undefined &&
      JSON.stringify(signInOf(stored)) !== JSON.stringify(signInOf(credentials));
    return { ...renamed, target, ...(await sealCredentials(credentials, seal)), endsGrant };
  }

  return {
    find,

    /** Creates a connection. A server that cannot be reached is stored too, with its error. */
    async add(
      tenant: string,
      fields: NewConnectionFields,
      signal?: AbortSignal,
    ): Promise<Connection> {
      const target = targetOf(fields);
      assertAllowed(target);
      const { name, headers, auth, env } = fields;
      const sealed = await sealCredentials(
        { ...(headers && { headers }), ...(auth && { auth }), ...(env && { env }) },
        seal,
      );
      for (;;) {
        const connection = { id: connectionId(name), tenant, name, target, ...sealed };
        if (await store.createConnection(connection, now()))
          return waitForCheck(connection, null, signal);
      }
    },

    /** Changes the given fields. A new target or new credentials are checked. */
    async change(
      tenant: string,
      id: string,
      fields: ChangedConnectionFields,
      signal?: AbortSignal,
    ): Promise<Connection> {
      const first = await find(tenant, id);
      for (let current = first; ; current = await find(tenant, id)) {
        assertSameOrigin(first, current, fields);
        const { endsGrant, ...change } = await merge(current, fields);
        const ifRevision = current.revision;
        const updated = await store.updateConnection(tenant, id, { ...change, ifRevision }, now());
        if (updated === "changed") continue; // by a concurrent request
        if (endsGrant) await store.saveGrant(tenant, id, { sealed: null, error: null }, now());
        if (updated?.revision === current.revision) return updated;
        return waitForCheck(current, current.checked_at, signal);
      }
    },

    /** Checks the server now, and subscribes to its triggers again. */
    async check(tenant: string, id: string, signal?: AbortSignal): Promise<Connection> {
      const connection = await find(tenant, id);
      if (waitMs === 0)
        throw new RequestError(
          "conflict",
          "connection",
          "No hub is running that could check the connection: start it with `npx signalbox serve`.",
        );
      await store.renewSubscriptions(tenant, id, now());
      return waitForCheck(connection, connection.checked_at, signal);
    },
  };
}
