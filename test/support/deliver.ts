/** Sends webhooks as GitHub does, and raw bytes for requests that no HTTP client would send. */
import { createHmac, randomUUID } from "node:crypto";
import { connect } from "node:net";

export const SECRET = "It's a Secret to Everybody";

export const signature = (body: string | Uint8Array, secret = SECRET): string =>
  `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;

export interface Delivery {
  body?: string | Uint8Array;
  id?: string;
  type?: string;
  secret?: string;
  headers?: Record<string, string>;
  path?: string;
}

export const issueOpened = {
  action: "opened",
  issue: { number: 7, title: "It rains", html_url: "https://github.com/octo/town/issues/7" },
  repository: { full_name: "octo/town", owner: { id: 42, login: "octo" } },
  sender: { login: "mona" },
};

export function deliver(url: string, delivery: Delivery = {}): Promise<Response> {
  const {
    body = JSON.stringify(issueOpened),
    id = randomUUID(),
    type = "issues",
    secret,
  } = delivery;
  return fetch(`${url}${delivery.path ?? "/webhooks/github"}`, {
    method: "POST",
    body: new Uint8Array(typeof body === "string" ? Buffer.from(body) : body),
    headers: {
      "content-type": "application/json",
      "x-github-event": type,
      "x-github-delivery": id,
      "x-hub-signature-256": signature(body, secret),
      ...delivery.headers,
    },
  });
}

/** Sends raw bytes and returns all received bytes when the connection ends. */
export function rawExchange(url: string, ...pieces: (string | Uint8Array)[]): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    const socket = connect(Number(port), hostname, () => {
      for (const piece of pieces) socket.write(piece);
    });
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk;
    });
    socket.on("end", () => resolve(received));
    socket.on("error", (error) => (received ? resolve(received) : reject(error)));
  });
}
