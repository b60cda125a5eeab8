/**
 * Adds, changes and checks connections. The rows are stored at once; a keeper, on any replica, then
 * checks the server, and the caller gets its result if it comes within `waitMs`.
 */
import { RequestError } from "../lib/request-error.ts";
import type { Seal } from "../lib/seal.ts";
import type { Timers } from "../lib/timers.ts";
import type { Connection, ConnectionTarget } from "../store/connection-store.ts";
import type { Store } from "../store/store.ts";
import {
  type ChangedConnectionFields,
  changedCredentials,
  changedTarget,
  isSameOrigin,
  type NewConnectionFields,
  targetOf,
} from "./connection-fields.ts";
import { connectionId } from "./connection-id.ts";
import { sealCredentials, signInOf, unsealCredentials } from "./credentials.ts";

export interface ConnectionRegistryOptions {
  store: Pick<
    Store,
    "createConnection" | "updateConnection" | "getConnection" | "touchConnection" | "saveGrant"
  >;
  seal: Seal;
  timers: Pick<Timers, "now" | "after">;
  /** Whether the operator allows programs on the hub's machine (SIGNALBOX_ALLOW_COMMANDS). */
  allowCommands: boolean;
  /** How long to wait for the result of a check; 0 if no keeper runs. */
  waitMs: number;
}

export type ConnectionRegistry = ReturnType<typeof createConnectionRegistry>;

/** Longer than the time limit of a check. */
export const CHECK_WAIT_MS = 25_000;
const POLL_MS = 50;

/** Credentials are for the URL that the connection had when they were given. */
function assertSameOrigin(
  { target: before }: Connection,
  { target: after }: Connection,
  { url, headers, auth }: ChangedConnectionFields,
): void {
  if (url !== undefined || !(headers || auth) || isSameOrigin(before, after)) return;
  throw new RequestError(
    "changed",
    "url",
    "The URL of the connection has been changed meanwhile: give the credentials for the new one.",
  );
}

export function createConnectionRegistry(options: ConnectionRegistryOptions) {
  const { store, seal, timers, allowCommands, waitMs } = options;
  const { now } = timers;

  const assertAllowed = (target: ConnectionTarget): void => {
    if ("command" in target && !allowCommands)
      throw new RequestError(
        "forbidden",
        "command",
        "This hub runs no commands: give a url, or start the hub with SIGNALBOX_ALLOW_COMMANDS=on.",
      );
  };

  const sleep = (): Promise<void> =>
    new Promise((resolve) => void timers.after(POLL_MS, () => resolve()));

  /** Waits until another check than the one at `former` is recorded. */
  async function checked(
    { tenant, id }: Pick<Connection, "tenant" | "id">,
    former: number | null,
    signal?: AbortSignal,
  ): Promise<Connection> {
    const end = now() + waitMs;
    for (;;) {
      const found = await find(tenant, id);
      const isChecked = found.status !== "unknown" && found.checked_at !== former;
      if (isChecked || now() >= end || signal?.aborted) return found;
      // A visit for a due subscription may skip the check.
      if (found.next_at > now()) await store.touchConnection(tenant, id, now());
      await sleep();
    }
  }

  async function find(tenant: string, id: string): Promise<Connection> {
    const found = await store.getConnection(tenant, id);
    if (!found)
      throw new RequestError(
        "not_found",
        "connection",
        `There is no connection ${id.slice(0, 100)}.`,
      );
    return found;
  }

  /** The columns that change. Credentials are merged with those of `found`. */
  async function merge(
    found: Connection,
    { name, ...rest }: ChangedConnectionFields,
  ): Promise<Parameters<Store["updateConnection"]>[2] & { endsGrant?: boolean }> {
    const target = changedTarget(found.target, rest);
    const isSame = JSON.stringify(target) === JSON.stringify(found.target);
    if (!isSame) assertAllowed(target);
    const hasCredentials = [rest.headers, rest.auth, rest.env].some((one) => one !== undefined);
    const renamed = name === undefined ? {} : { name };
    if (isSame && !hasCredentials) return renamed;
    const stored = await unsealCredentials(found.sealed, seal);
    const credentials = changedCredentials({ from: found.target, to: target }, stored, rest);
    // Tokens that a person has granted are for these credentials only.
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
          return checked(connection, null, signal);
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
      for (let found = first; ; found = await find(tenant, id)) {
        assertSameOrigin(first, found, fields);
        const { endsGrant, ...change } = await merge(found, fields);
        const ifRevision = found.revision;
        const changed = await store.updateConnection(tenant, id, { ...change, ifRevision }, now());
        if (changed === "changed") continue; // by a concurrent request
        if (endsGrant) await store.saveGrant(tenant, id, { sealed: null, error: null }, now());
        if (changed?.revision === found.revision) return changed;
        return checked(found, found.checked_at, signal);
      }
    },

    /** Checks the server now. */
    async check(tenant: string, id: string, signal?: AbortSignal): Promise<Connection> {
      const found = await find(tenant, id);
      if (waitMs === 0)
        throw new RequestError(
          "conflict",
          "connection",
          "No hub is running that could check the connection: start it with `npx signalbox serve`.",
        );
      return checked(found, found.checked_at, signal);
    },
  };
}
