/** Servers for the tests of outbound requests. They listen on the loopback address. */
import * as http from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import type { GuardedFetchOptions } from "./guarded-fetch.ts";

export const servers: http.Server[] = [];

/** Waits for every connection, so a connection that is left open fails the test. */
export async function closeServers(): Promise<void> {
  for (const server of servers.splice(0)) await new Promise((resolve) => server.close(resolve));
}

export async function listen(server: http.Server, host = "127.0.0.1"): Promise<number> {
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return (server.address() as AddressInfo).port;
}

interface ReceivedRequest {
  method: string | undefined;
  url: string | undefined;
  headers: http.IncomingHttpHeaders;
  body: string;
}

/** A server that records its requests. */
export async function serve(
  respond: (response: http.ServerResponse, request: ReceivedRequest) => unknown,
) {
  const requests: ReceivedRequest[] = [];
  const port = await listen(
    http.createServer(async (request, response) => {
      const { method, url, headers } = request;
      const received = { method, url, headers, body: await text(request) };
      requests.push(received);
      respond(response, received);
    }),
  );
  return { port, requests, url: `http://hooks.test:${port}` };
}

/** `.test` names do not exist in DNS; this lookup resolves all of them to the loopback address. */
export const toLoopback: GuardedFetchOptions = {
  allowPrivate: ["127.0.0.1"],
  lookup: async () => ["127.0.0.1"],
};
