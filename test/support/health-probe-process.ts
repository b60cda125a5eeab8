/**
 * Sends `/healthz` requests over one connection, and reports how long each response took, and how much
 * CPU time the hub's main thread used meanwhile. On a busy machine, only the latter is the hub's own.
 */
import { existsSync, readFileSync } from "node:fs";
import { Agent, get } from "node:http";

export interface HealthReport {
  /** Of the responses with 200, in milliseconds, since the last report. */
  latencies: Float64Array;
  /** CPU time of the hub's main thread during each response; 0 on systems without `/proc`. */
  busy: Float64Array;
  /** Requests without a response, or with a status other than 200. */
  failed: number;
}

const PAUSE_MS = 5;
/** A request without a response fails after this time. */
const RESPONSE_MS = 60_000;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
const [url, pid] = process.argv.slice(2) as [string, string?];
const schedstat = `/proc/${pid}/schedstat`;
const cpuMs = existsSync(schedstat)
  ? () => Number(readFileSync(schedstat, "utf8").split(" ", 1)[0]) / 1e6
  : () => 0;
let latencies: number[] = [];
let busy: number[] = [];
let failed = 0;
let reportWanted = false;

function probe(): void {
  const startedAt = performance.now();
  const cpuAtStart = cpuMs();
  const next = () => {
    // Only between two requests: a request in progress may be the slowest.
    if (reportWanted) report();
    setTimeout(probe, PAUSE_MS);
  };
  get(`${url}/healthz`, { agent, signal: AbortSignal.timeout(RESPONSE_MS) }, (response) => {
    response.resume().on("close", () => {
      if (response.statusCode === 200 && response.complete) {
        latencies.push(performance.now() - startedAt);
        busy.push(cpuMs() - cpuAtStart);
      } else failed += 1;
      next();
    });
  }).on("error", () => {
    failed += 1;
    next();
  });
}

function report(): void {
  reportWanted = false;
  const message: HealthReport = {
    latencies: Float64Array.from(latencies),
    busy: Float64Array.from(busy),
    failed,
  };
  process.send?.(message);
  latencies = [];
  busy = [];
  failed = 0;
}

process.on("message", () => {
  reportWanted = true;
});
process.on("disconnect", () => process.exit());
probe();
