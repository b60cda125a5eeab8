import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";

/** A proxy for programs that cannot send a token: it adds the `Authorization` header. */
export async function startBearerProxy(
  target: string,
  token: string,
): Promise<{ url: string; stop(): Promise<void> }> {
  const proxy = createServer((incoming, outgoing) => {
    const { method = "GET", headers } = incoming;
    const upstream = request(
      `${target}${incoming.url}`,
      { method, headers: { ...headers, authorization: `Bearer ${token}` } },
      (response) => {
        outgoing.writeHead(response.statusCode ?? 502, response.headers);
        response.pipe(outgoing);
      },
    );
    upstream.on("error", () => outgoing.destroy());
    outgoing.on("close", () => upstream.destroy());
    incoming.pipe(upstream);
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
