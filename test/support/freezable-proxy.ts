/**
 * A TCP proxy in front of a server. A frozen proxy forwards nothing and closes no connection, like a hung
 * server. A proxy that is down closes all connections, also new ones.
 */
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { onTestFinished } from "vitest";

/**
 * `hold`: holds back this response and later ones of the connection until `resume`.
 * `mute`: forwards this response, and drops later ones of the connection.
 */
type Fault = "hold" | "mute";

export async function startFreezableProxy(target: string) {
  const { port, hostname } = new URL(target);
  const sockets = new Set<Socket>();
  const heldResponses: (() => void)[] = [];
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
      if (fault === "hold") {
        upstream.pause();
        heldResponses.push(() => {
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
  const closeAll = () => {
    for (const socket of sockets) socket.destroy();
  };
  onTestFinished(() => {
    closeAll();
    server.close();
  });
  return {
    url: url.href,
    /** Freezes the open connections, but not new ones. */
    freezeOpen() {
      for (const socket of sockets) socket.pause();
    },
    freeze() {
      isFrozen = true;
      this.freezeOpen();
    },
    /** Ends `freeze` and `takeDown`: closes all connections, and forwards new ones. */
    repair() {
      isFrozen = false;
      isDown = false;
      closeAll();
    },
    takeDown() {
      isDown = true;
      closeAll();
    },
    /** The number of attempts to connect. */
    attempts: () => attempts,
    /** Applies the fault to the first response that contains the text. Resolves when that response arrives. */
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
    /** Forwards the responses that the fault `hold` has held back. */
    resume() {
      for (const forward of heldResponses.splice(0)) forward();
    },
  };
}
