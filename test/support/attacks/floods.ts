/** Floods that need no token, or a token with read access only. */
import { Agent, request } from "node:http";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";

const open = (url: string): Socket => {
  const { hostname, port } = new URL(url);
  return connect(Number(port), hostname).on("error", () => {});
};

export interface HalfSentBodies {
  /** Returns the bytes that the hub has sent so far, of all connections. */
  received(): string;
  close(): void;
}

const PIECE = Buffer.alloc(200_000, 0x20);

/** Sends the first half of a body of 24 MB on each connection. */
export async function sendHalfBodies(url: string, connections: number): Promise<HalfSentBodies> {
  const head = `POST /webhooks/github HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-type: application/json\r\nx-github-event: push\r\nx-github-delivery: x\r\nx-hub-signature-256: sha256=${"0".repeat(64)}\r\ncontent-length: 24000000\r\n\r\n`;
  let received = "";
  const sockets = Array.from({ length: connections }, () => {
    const socket = open(url);
    socket.on("data", (chunk) => {
      received += chunk;
    });
    socket.write(head);
    return socket;
  });
  // Each round sends one piece of every body, so that all bodies arrive in parallel. With larger pieces, the
  // kernel would drop packets of every connection.
  for (let round = 0; round < 60; round += 1) {
    for (const socket of sockets) if (!socket.destroyed) socket.write(PIECE);
    await sleep(100);
  }
  return {
    received: () => received,
    close() {
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Sends requests with different unknown tokens of 15 KB; returns their statuses. */
export async function sendUnknownTokens(url: string, count: number): Promise<number[]> {
  const agent = new Agent({ keepAlive: true, maxSockets: 20 });
  const send = () =>
    new Promise<number>((resolve, reject) => {
      const authorization = `Bearer ${Math.random().toString().padStart(15_000, "x")}`;
      request(`${url}/pending-status`, { agent, headers: { authorization } }, (response) => {
        response.resume().on("end", () => resolve(response.statusCode as number));
      })
        .on("error", reject)
        .end();
    });
  try {
    return await Promise.all(Array.from({ length: count }, send));
  } finally {
    agent.destroy();
  }
}

/** 100,000 ping frames without a payload. */
const PINGS = Buffer.concat(Array(100_000).fill(Buffer.from([0x89, 0x80, 0, 0, 0, 0])));

/** Opens WebSockets and sends two million pings on each; returns the data that each has received. */
export function floodWithPings(url: string, token: string, sockets: number): Promise<string[]> {
  const flood = async () => {
    const socket = open(url);
    socket.write(
      `GET /events HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\nconnection: upgrade\r\nupgrade: websocket\r\nsec-websocket-version: 13\r\nsec-websocket-key: ${"A".repeat(22)}==\r\n\r\n`,
    );
    let received = "";
    const closed = new Promise((resolve) => socket.once("close", resolve));
    socket.setEncoding("latin1").on("data", (text: string) => {
      if (received === "") for (let round = 0; round < 20; round += 1) socket.write(PINGS);
      received += text;
    });
    await closed;
    return received;
  };
  return Promise.all(Array.from({ length: sockets }, flood));
}
