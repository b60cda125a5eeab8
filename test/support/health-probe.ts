/** Measures the latency of `/healthz` and the peak memory of a hub while a test attacks it. */
import { existsSync, readFileSync } from "node:fs";
import { expect, onTestFinished } from "vitest";
import type { HubProcess } from "./hub-process.ts";
import { startHealthProbe } from "./start-health-probe.ts";

/** On a quiet machine, latencies depend only on the hub. Otherwise only its CPU time is checked. */
const isQuietMachine = process.env.SIGNALBOX_QUIET === "1";
const MAX_LATENCY_MS = 150;
/** The maximum CPU time of the hub's main thread during one response. */
const MAX_CPU_MS = 1_500;

interface HealthCheck {
  /** Ends the measurement, reports it, and expects that it is within the limits. */
  expectHealthy(limits?: { maxMegabytes?: number }): Promise<void>;
}

export function probeHealth(hub: Pick<HubProcess, "url" | "pid">, name: string): HealthCheck {
  const probe = startHealthProbe(hub.url, hub.pid);
  onTestFinished(probe.stop);
  return {
    async expectHealthy({ maxMegabytes = 500 } = {}) {
      const { latencies, cpuTimes, failed } = await probe.report();
      probe.stop();
      const worstLatency = Math.max(...latencies);
      const worstCpuTime = Math.max(...cpuTimes);
      const megabytes = peakMegabytes(hub.pid);
      console.info(
        `${name}: ${latencies.length} requests to /healthz, worst latency ${worstLatency.toFixed(0)} ms, worst CPU time ${worstCpuTime.toFixed(0)} ms, peak RSS ${megabytes} MB`,
      );
      expect(failed).toBe(0);
      expect(latencies.length).toBeGreaterThan(0);
      if (isQuietMachine) expect(worstLatency).toBeLessThan(MAX_LATENCY_MS);
      else expect(worstCpuTime).toBeLessThan(MAX_CPU_MS);
      if (megabytes !== undefined) expect(megabytes).toBeLessThan(maxMegabytes);
    },
  };
}

/** The peak memory since the process started; undefined on systems without `/proc`. */
const peakMegabytes = (pid: number) => readMegabytes(pid, "VmHWM");
export const residentMegabytes = (pid: number) => readMegabytes(pid, "VmRSS");

function readMegabytes(pid: number, field: string): number | undefined {
  const file = `/proc/${pid}/status`;
  if (!existsSync(file)) return undefined;
  const line = readFileSync(file, "utf8")
    .split("\n")
    .find((text) => text.startsWith(field));
  const kilobytes = /(\d+) kB$/.exec(line ?? "")?.[1];
  return kilobytes === undefined ? undefined : Math.round(Number(kilobytes) / 1024);
}
