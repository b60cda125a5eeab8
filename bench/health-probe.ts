/** Probes `/healthz` every few milliseconds over one connection, and reports the slowest response. */
import { Agent, get } from "node:http";

const PAUSE_MS = 2;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
let worstMs = 0;

process.on("message", (message: { port: number } | "reset" | "report") => {
  if (message === "reset") worstMs = 0;
  else if (message === "report") process.send?.(worstMs);
  else probe(message.port);
});
process.on("disconnect", () => process.exit());

function probe(port: number): void {
  const startedAt = performance.now();
  const next = () => {
    worstMs = Math.max(worstMs, performance.now() - startedAt);
    setTimeout(probe, PAUSE_MS, port);
  };
  get({ host: "127.0.0.1", port, path: "/healthz", agent }, (response) =>
    response.resume().on("end", next),
  ).on("error", next);
}
