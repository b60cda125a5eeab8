import { once } from "node:events";
import { createServer } from "node:net";

/** Each Vitest worker has its own range of 1,000 ports, so that parallel test files use different ports. */
const FIRST_PORT = 20_000 + (Number(process.env.VITEST_POOL_ID ?? 0) % 10) * 1_000;

/**
 * Finds a free port for a server that is stopped and started again. The port is below the usual ephemeral
 * range, so that no outgoing connection uses it while the server is down.
 */
export async function fixedPort(): Promise<string> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * 1_000);
    const server = createServer();
    const isFree = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!isFree) continue;
    server.close();
    await once(server, "close");
    return String(port);
  }
}
