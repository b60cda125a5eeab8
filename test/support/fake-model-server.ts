/** A model provider on loopback, which speaks the wire formats of model-wire.ts. */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Readable } from "node:stream";
import { createFakeModel, type ModelScript } from "./model-wire.ts";

export interface FakeModelServer {
  /** The base URL for `model.baseUrl`. */
  url: string;
  requests: ReturnType<typeof createFakeModel>["requests"];
  close(): Promise<void>;
}

export async function startFakeModelServer(script: ModelScript): Promise<FakeModelServer> {
  const model = createFakeModel(script);
  const server = createServer(async (incoming, outgoing) => {
    try {
      const body = await new Response(Readable.toWeb(incoming) as ReadableStream).text();
      const request = new Request(`http://model.test${incoming.url}`, {
        method: "POST",
        headers: new Headers(incoming.headers as Record<string, string>),
        body,
      });
      await send(await model.fetch(request), outgoing);
    } catch {
      // A script that throws closes the connection, like a provider that crashes.
      outgoing.destroy();
    }
  });
  server.listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    requests: model.requests,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

async function send(response: Response, outgoing: ServerResponse): Promise<void> {
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  for await (const chunk of response.body ?? []) outgoing.write(chunk);
  outgoing.end();
}
