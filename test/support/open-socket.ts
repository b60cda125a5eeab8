/** A WebSocket client of `GET /events`. */
import { onTestFinished } from "vitest";
import { WebSocket } from "ws";
import type { HubProcess } from "./hub-process.ts";

export function openSocket(hub: HubProcess, path: string, headers: Record<string, string>) {
  // After the closing handshake, workerd keeps the TCP connection open for many seconds.
  const options = { headers, closeTimeout: 1_000 };
  const socket = new WebSocket(`${hub.url.replace("http", "ws")}${path}`, options);
  const messages: Record<string, unknown>[] = [];
  socket.on("message", (data) => messages.push(JSON.parse(String(data))));
  /** Resolves to the close code. */
  const closed = new Promise<number>((resolve) => socket.on("close", resolve));
  socket.on("error", () => {});
  onTestFinished(() => socket.terminate());
  const seqs = () => messages.flatMap(({ seq }) => (typeof seq === "number" ? [seq] : []));
  return { socket, messages, seqs, closed };
}
