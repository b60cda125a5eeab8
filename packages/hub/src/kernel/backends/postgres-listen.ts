/**
 * Sends notices to all replicas, as part of the transaction, and receives them on a separate
 * connection, which is reopened after an error. Notices are lost while it is closed, so every new
 * connection reports a `gap`.
 */
import pg from "pg";
import type { Notice } from "../store/sql.ts";

const CHANNEL = "signalbox";
const RECONNECT_MS = 1_000;

/** After this time a connection that does not close is destroyed. */
export const CLOSE_TIMEOUT_MS = 2_000;

/** Closes a connection without waiting for the server. */
export const destroySocket = (client: pg.ClientBase): void =>
  void (client as pg.Client).connection.stream.destroy();

/** Commits and sends the notices, in one round trip. */
export const commitSql = (notices: readonly Notice[]): string =>
  [
    ...notices.map((notice) => {
      const payload = pg.escapeLiteral(JSON.stringify(notice));
      return `SELECT pg_notify('${CHANNEL}', ${payload})`;
    }),
    "COMMIT",
  ].join("; ");

export interface Listening {
  /** Resolves when the first attempt to listen has succeeded or failed. */
  ready: Promise<void>;
  stop(): Promise<void>;
}

export function listen(
  connection: pg.ClientConfig,
  notify: (notices: readonly Notice[]) => void,
  onError: (error: Error) => void,
): Listening {
  let client: pg.Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  const connect = async () => {
    const next = new pg.Client({ ...connection, application_name: "signalbox listen" });
    client = next;
    const reconnect = (error: Error) => {
      if (client !== next) return;
      client = undefined;
      next.end().catch(() => {});
      if (stopped) return;
      onError(error);
      timer = setTimeout(() => {
        connecting = connect();
      }, RECONNECT_MS);
    };
    next.on("error", reconnect);
    next.on("end", () => reconnect(new Error("the LISTEN connection ended")));
    next.on("notification", ({ payload }) => {
      if (payload) notify([JSON.parse(payload) as Notice]);
    });
    try {
      await next.connect();
      await next.query(`LISTEN ${CHANNEL}`);
      notify([{ topic: "gap" }]);
    } catch (error) {
      reconnect(error as Error);
    }
  };
  let connecting = connect();

  return {
    ready: connecting,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      const current = client;
      if (current) setTimeout(() => destroySocket(current), CLOSE_TIMEOUT_MS).unref();
      await connecting;
      const last = client;
      client = undefined;
      await last?.end();
    },
  };
}
