import pg from "pg";
import { sqlState } from "./postgres-errors.ts";
import { destroySocket } from "./postgres-listen.ts";

/** A connection for pings, opened when it is first needed. */
export function createPing(connection: pg.ClientConfig) {
  let current: { client: pg.Client; connected: Promise<unknown> } | undefined;
  const drop = (client: pg.Client) => {
    if (current?.client === client) current = undefined;
    destroySocket(client);
  };
  const open = () => {
    const client = new pg.Client({ ...connection, application_name: "signalbox ping" });
    client.on("error", () => drop(client));
    current = { client, connected: client.connect() };
    return current;
  };
  return {
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
