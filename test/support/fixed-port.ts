import { once } from "node:events";
import { createServer } from "node:net";

/** Test files that run at the same time have different numbers, and so different ports. */
const FIRST = 20_000 + (Number(process.env.VITEST_POOL_ID ?? 0) % 10) * 1_000;

/**
 * A free port for a server that is stopped and started again. Below the usual ephemeral range, so
 * that no outgoing connection takes it while the server is down.
 */
export async function fixedPort(): Promise<string> {
  for (;;) {
    const port = FIRST + Math.floor(Math.random() * 1_000);
    const server = createServer();
    const free = await new Promise<boolean>((resolve) => {
      server.once("error", () => resolve(false));
      server.listen(port, "127.0.0.1", () => resolve(true));
    });
    if (!free) continue;
    server.close();
    await once(server, "close");
    return String(port);
  }
}
