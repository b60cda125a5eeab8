/** A TCP proxy. When frozen, it forwards nothing and closes no connection, like a hung server. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

export async function startFreezableProxy(target: string) {
  const { port, hostname } = new URL(target);
  const sockets = new Set<Socket>();
  let isFrozen = false;
  const server = createServer((client) => {
    const upstream = connect(Number(port), hostname);
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on("error", () => {}).on("close", () => to.destroy());
      if (!isFrozen) from.pipe(to);
    }
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const url = new URL(target);
  url.port = String((server.address() as AddressInfo).port);
  const drop = () => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    drop();
    server.close();
  });
  return {
    url: url.href,
    freeze() {
      isFrozen = true;
      for (const socket of sockets) socket.unpipe().pause();
    },
    /** Drops the frozen connections, and forwards new ones. */
    thaw() {
      isFrozen = false;
      drop();
    },
  };
}
