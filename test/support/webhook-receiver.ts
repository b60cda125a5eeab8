/** A receiver of outbound webhooks that verifies every signature with public libraries. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { Webhook as StandardWebhook } from "standardwebhooks";
import { Webhook as SvixWebhook } from "svix";
import { onTestFinished } from "vitest";

interface Received {
  id: string;
  timestamp: number;
  /** The number of signatures. */
  signatures: number;
  subscription: string;
  body: Record<string, unknown>;
}

export interface Receiver {
  url: string;
  port: number;
  secret: string;
  /** Requests that `respond` has accepted with a 2xx status. */
  received: Received[];
  /** All requests with a valid signature, including verifications. */
  requests: Received[];
  /** Responds to a request that is not a verification; by default with 204. */
  respond: (received: Received, response: ServerResponse) => void;
  /** Returns the response body for the challenge of a verification. */
  echo: (challenge: string) => string;
  /** Returns the event id of each accepted request, or the type of a message that is not an event. */
  events(): unknown[];
  stop(): Promise<void>;
}

export const newSecret = (): string =>
  `whsec_${Buffer.from(crypto.getRandomValues(new Uint8Array(32))).toString("base64")}`;

export async function startReceiver(port = 0, secret = newSecret()): Promise<Receiver> {
  const receiver: Receiver = {
    url: "",
    port,
    secret,
    received: [],
    requests: [],
    respond: (_, response) => void response.writeHead(204).end(),
    echo: (challenge) => JSON.stringify({ challenge }),
    events: () => receiver.received.map(({ body }) => body.eventId ?? body.type),
    stop: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  const handle = async (request: IncomingMessage, response: ServerResponse) => {
    const text = await read(request);
    const headers = request.headers as Record<string, string>;
    try {
      new StandardWebhook(receiver.secret).verify(text, headers);
      new SvixWebhook(receiver.secret).verify(text, headers);
    } catch (error) {
      response.writeHead(401).end(String(error));
      return;
    }
    const body = JSON.parse(text) as Record<string, unknown>;
    const received: Received = {
      id: headers["webhook-id"] ?? "",
      timestamp: Number(headers["webhook-timestamp"]),
      signatures: (headers["webhook-signature"] ?? "").split(" ").length,
      subscription: headers["x-mcp-subscription-id"] ?? "",
      body,
    };
    receiver.requests.push(received);
    if (body.type === "verification")
      return void response.writeHead(200).end(receiver.echo(String(body.challenge)));
    receiver.respond(received, response);
    if (response.statusCode < 300) receiver.received.push(received);
  };
  const server = createServer((request, response) => void handle(request, response));
  await new Promise<void>((resolve) => server.listen(port, "127.0.0.1", resolve));
  onTestFinished(() => receiver.stop());
  receiver.port = (server.address() as AddressInfo).port;
  receiver.url = `http://127.0.0.1:${receiver.port}/hook`;
  return receiver;
}

async function read(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
