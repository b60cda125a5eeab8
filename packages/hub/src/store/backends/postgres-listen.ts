/**
 * Notices from one replica to all of them. They are sent as part of the transaction, and heard on a
 * connection of its own, which comes back after it broke. What was said meanwhile is lost, so every
 * return is told as a gap.
 */
import pg from "pg";
import type { Notice } from "../sql.ts";

const CHANNEL = "signalbox";
const RELISTEN_MS = 1_000;

/** How long a connection has to end in good form. */
export const GOODBYE_MS = 2_000;

/** Ends a connection without waiting for the server's word. */
export const cutOff = (client: pg.ClientBase): void =>
  void (client as pg.Client).connection.stream.destroy();

/** Ends the transaction and sends its notices, in one round trip. */
export const commitWith = (notices: readonly Notice[]): string =>
  [
    ...notices.map((notice) => {
      const said = pg.escapeLiteral(JSON.stringify(notice));
      return `SELECT pg_notify('${CHANNEL}', ${said})`;
    }),
    "COMMIT",
  ].join("; ");

export interface Listening {
  /** Resolves when the first attempt to listen has ended, one way or the other. */
  ready: Promise<void>;
  stop(): Promise<void>;
}

export function listen(
  connection: pg.ClientConfig,
  tell: (notices: readonly Notice[]) => void,
  onError: (error: Error) => void,
): Listening {
  let client: pg.Client | undefined;
  let timer: NodeJS.Timeout | undefined;
  let stopped = false;

  const connect = async () => {
    const next = new pg.Client({ ...connection, application_name: "signalbox listen" });
    client = next;
    const again = (error: Error) => {
      if (client !== next) return;
      client = undefined;
      next.end().catch(() => {});
      if (stopped) return;
      onError(error);
      timer = setTimeout(() => {
        connecting = connect();
      }, RELISTEN_MS);
    };
    next.on("error", again);
    next.on("end", () => again(new Error("the LISTEN connection ended")));
    next.on("notification", ({ payload }) => {
      if (payload) tell([JSON.parse(payload) as Notice]);
    });
    try {
      await next.connect();
      await next.query(`LISTEN ${CHANNEL}`);
      tell([{ topic: "gap" }]);
    } catch (error) {
      again(error as Error);
    }
  };
  let connecting = connect();

  return {
    ready: connecting,
    async stop() {
      stopped = true;
      clearTimeout(timer);
      const current = client;
      if (current) setTimeout(() => cutOff(current), GOODBYE_MS).unref();
      await connecting;
      const last = client;
      client = undefined;
      await last?.end();
    },
  };
}
