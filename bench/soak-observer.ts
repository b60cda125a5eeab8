/** Observes a hub during a part of `soak`: the responses of `/healthz`, its memory and its CPU time. */
import { startHealthProbe } from "../test/support/start-health-probe.ts";
import type { HubProcess } from "./hub-process.ts";
import {
  cpuSeconds,
  cpuWaitSeconds,
  residentBytes,
  residentBytesOfChildren,
} from "./process-stats.ts";
import { median, sorted } from "./statistics.ts";

export interface Observation {
  /** The response times of `/healthz` in milliseconds, ascending. */
  health: Float64Array;
  healthFailures: number;
  /** Resident bytes of the hub. */
  memory: { median: number; peak: number; last: number };
  /** CPU time of the hub, as a share of one core. */
  cpuShare: number;
  /** The share of the time in which the hub's main thread was ready to run but had no CPU. */
  cpuWaitShare: number;
  /** Peak of the resident bytes of all sandbox processes. */
  workerPeak: number;
}

export interface Observer {
  /** Returns the observation since the last call. */
  take(): Promise<Observation>;
  isAlive(): boolean;
  stop(): void;
}

const SAMPLE_MS = 500;

export function observeHub({ port, pid }: HubProcess): Observer {
  const probe = startHealthProbe(`http://127.0.0.1:${port}`);
  const readCpu = () => ({
    at: performance.now() / 1000,
    cpu: cpuSeconds(pid),
    wait: cpuWaitSeconds(pid),
  });
  let memory: number[] = [];
  let workers: number[] = [];
  let since = readCpu();
  const isAlive = () => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };
  const sample = () => {
    if (!isAlive()) return;
    memory.push(residentBytes(pid));
    workers.push(residentBytesOfChildren(pid));
  };
  const sampling = setInterval(sample, SAMPLE_MS);
  return {
    isAlive,
    async take() {
      sample();
      const [resident, ofWorkers] = [memory, workers];
      memory = [];
      workers = [];
      const before = since;
      since = readCpu();
      const { latencies, failed } = await probe.report();
      return {
        health: latencies.sort(),
        healthFailures: failed,
        memory: {
          median: median(resident),
          peak: sorted(resident).at(-1) ?? Number.NaN,
          last: resident.at(-1) ?? Number.NaN,
        },
        cpuShare: (since.cpu - before.cpu) / (since.at - before.at),
        cpuWaitShare: (since.wait - before.wait) / (since.at - before.at),
        workerPeak: sorted(ofWorkers).at(-1) ?? Number.NaN,
      };
    },
    stop() {
      clearInterval(sampling);
      probe.stop();
    },
  };
}
