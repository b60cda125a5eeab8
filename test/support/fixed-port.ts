import { once } from "node:events";
import { createServer } from "node:net";

/**
 * A free port for a hub that is stopped and started again. Below the usual ephemeral range, so
 * that no outgoing connection takes it while the hub is down.
 */
export async function fixedPort(): Promise<string> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 10_000);
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
