import pg from "pg";
import { sqlState } from "./postgres-errors.ts";
import { destroySocket } from "./postgres-listen.ts";

/** A connection that does not respond for this time is replaced. */
const TIMEOUT_MS = 5_000;

/** Pings the server on a separate connection, which stays open: a busy server opens connections slowly. */
export function createPing(connection: pg.ClientConfig) {
  let current: { client: pg.Client; connected: Promise<unknown> } | undefined;
  const drop = (client: pg.Client) => {
    if (current?.client === client) current = undefined;
    destroySocket(client);
  };
  const open = () => {
    const client = new pg.Client({
      ...connection,
      connectionTimeoutMillis: TIMEOUT_MS,
      query_timeout: TIMEOUT_MS,
      application_name: "signalbox ping",
    });
    client.on("error", () => drop(client));
    current = { client, connected: client.connect() };
    current.connected.catch(() => drop(client)); // the next ping opens another connection
    return current;
  };
  return {
    open(): void {
      // A ping may have opened the connection already. A second connection would never be closed.
      if (!current) open();
    },
    /** Rejects if the server does not respond. An error that the server sends is a response. */
    async ping(): Promise<void> {
      const { client, connected } = current ?? open();
      try {
        await connected;
        await client.query("SELECT 1");
      } catch (error) {
        drop(client);
        if (sqlState(error) === "") throw error;
      }
    },
    stop() {
      if (current) drop(current.client);
    },
  };
}
