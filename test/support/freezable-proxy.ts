/**
 * A TCP proxy. When frozen, it forwards nothing and closes no connection, like a hung server. When
 * down, it closes new connections.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/**
 * `freeze`: keeps this and later responses of the connection until `resume`.
 * `mute`: forwards this response, and no later one of the connection.
 */
type Fault = "freeze" | "mute";

export async function startFreezableProxy(target: string) {
  const { port, hostname } = new URL(target);
  const sockets = new Set<Socket>();
  const held: (() => void)[] = [];
  let isFrozen = false;
  let isDown = false;
  let attempts = 0;
  let faultOf: (response: Buffer) => Fault | undefined = () => undefined;

  const server = createServer((client) => {
    attempts += 1;
    if (isDown) {
      client.on("error", () => {}).destroy();
      return;
    }
    const upstream = connect(Number(port), hostname);
    let isMute = false;
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from);
      from.on("error", () => {}).on("close", () => to.destroy());
      if (isFrozen) from.pause();
    }
    client.on("data", (chunk) => upstream.write(chunk));
    upstream.on("data", (chunk) => {
      if (isMute) return;
      const fault = faultOf(chunk);
      if (fault === "freeze") {
        upstream.pause();
        held.push(() => {
          client.write(chunk);
          upstream.resume();
        });
        return;
      }
      client.write(chunk);
      isMute = fault === "mute";
    });
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
    /** Freezes the open connections only. */
    freezeOpen() {
      for (const socket of sockets) socket.pause();
    },
    freeze() {
      isFrozen = true;
      this.freezeOpen();
    },
    /** Drops all connections, and forwards new ones. */
    repair() {
      isFrozen = false;
      isDown = false;
      drop();
    },
    takeDown() {
      isDown = true;
      drop();
    },
    /** The number of attempts to connect. */
    attempts: () => attempts,
    /** The first response that contains the text causes the fault in its connection. */
    onResponse(text: string, fault: Fault): Promise<void> {
      const { promise, resolve } = Promise.withResolvers<void>();
      faultOf = (response) => {
        if (!response.includes(text)) return undefined;
        faultOf = () => undefined;
        resolve();
        return fault;
      };
      return promise;
    },
    /** Forwards the responses that `freeze` has kept. */
    resume() {
      for (const forward of held.splice(0)) forward();
    },
  };
}
