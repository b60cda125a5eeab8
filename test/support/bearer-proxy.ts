import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

/** A door to `target` for programs that cannot send a token: all else goes through as it came. */
export async function startBearerProxy(
  target: string,
  token: string,
): Promise<{ url: string; stop(): Promise<void> }> {
  const proxy = createServer((incoming, outgoing) => {
    const { method = "GET", headers } = incoming;
    const onward = request(
      `${target}${incoming.url}`,
      { method, headers: { ...headers, authorization: `Bearer ${token}` } },
      (answer) => {
        outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(outgoing);
      },
    );
    onward.on("error", () => outgoing.destroy());
    outgoing.on("close", () => onward.destroy());
    incoming.pipe(onward);
  }).listen(0, "127.0.0.1");
  await new Promise((resolve) => proxy.once("listening", resolve));
  return {
    url: `http://localhost:${(proxy.address() as AddressInfo).port}`,
    async stop() {
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
}
