/** Sends `/healthz` requests over one connection, and reports how long each response took. */
import { Agent, get } from "node:http";

export interface HealthReport {
  /** Of the responses with 200, in milliseconds, since the last report. */
  latencies: Float64Array;
  /** Requests without a response, or with a status other than 200. */
  failed: number;
}

const PAUSE_MS = 5;
/** A request without a response fails after this time. */
const RESPONSE_MS = 60_000;
const agent = new Agent({ keepAlive: true, maxSockets: 1 });
let latencies: number[] = [];
let failed = 0;
let reportWanted = false;

function probe(url: string): void {
  const startedAt = performance.now();
  const next = () => {
    // Only between two requests: a request in progress may be the slowest.
    if (reportWanted) report();
    setTimeout(probe, PAUSE_MS, url);
  };
  get(`${url}/healthz`, { agent, signal: AbortSignal.timeout(RESPONSE_MS) }, (response) => {
    response.resume().on("close", () => {
      if (response.statusCode === 200 && response.complete)
        latencies.push(performance.now() - startedAt);
      else failed += 1;
      next();
    });
  }).on("error", () => {
    failed += 1;
    next();
  });
}

function report(): void {
  reportWanted = false;
  process.send?.({ latencies: Float64Array.from(latencies), failed } satisfies HealthReport);
  latencies = [];
  failed = 0;
}

process.on("message", () => {
  reportWanted = true;
});
process.on("disconnect", () => process.exit());
probe(process.argv[2] as string);
