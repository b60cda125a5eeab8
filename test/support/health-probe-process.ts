/**
 * Sends `/healthz` requests over one connection. Reports the latency of each response, and the CPU time of
 * the hub's main thread during the request, which other processes of a busy machine do not affect.
 */
import { existsSync, readFileSync } from "node:fs";
import { Agent, get } from "node:http";

export interface HealthReport {
  /** The latencies of the responses with status 200 since the previous report, in milliseconds. */
  latencies: Float64Array;
  /** The CPU time of the hub's main thread during each of these requests; 0 on systems without `/proc`. */
  cpuTimes: Float64Array;
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
let cpuTimes: number[] = [];
let failed = 0;
let isReportRequested = false;

function probe(): void {
  const startedAt = performance.now();
  const cpuAtStart = cpuMs();
  const next = () => {
    // Reports only between two requests, because a request in progress may be the slowest.
    if (isReportRequested) report();
    setTimeout(probe, PAUSE_MS);
  };
  get(`${url}/healthz`, { agent, signal: AbortSignal.timeout(RESPONSE_MS) }, (response) => {
    response.resume().on("close", () => {
      if (response.statusCode === 200 && response.complete) {
        latencies.push(performance.now() - startedAt);
        cpuTimes.push(cpuMs() - cpuAtStart);
      } else failed += 1;
      next();
    });
  }).on("error", () => {
    failed += 1;
    next();
  });
}

function report(): void {
  isReportRequested = false;
  const message: HealthReport = {
    latencies: Float64Array.from(latencies),
    cpuTimes: Float64Array.from(cpuTimes),
    failed,
  };
  process.send?.(message);
  latencies = [];
  cpuTimes = [];
  failed = 0;
}

process.on("message", () => {
  isReportRequested = true;
});
process.on("disconnect", () => process.exit());
probe();
