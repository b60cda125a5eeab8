/** Measures a hub from another process while a test attacks it: `/healthz`, and the peak memory. */
import { existsSync, readFileSync } from "node:fs";
import { expect, onTestFinished } from "vitest";
import type { HubProcess } from "./hub-process.ts";
import { startHealthProbe } from "./start-health-probe.ts";

/** On a quiet machine (`SIGNALBOX_QUIET=1`), and on one that runs other tests. */
const MAX_HEALTH_MS = process.env.SIGNALBOX_QUIET === "1" ? 150 : 5_000;

interface HealthCheck {
  /** Ends the measurement, reports it, and expects that it is within the limits. */
  expectHealthy(limits?: { maxMegabytes?: number }): Promise<void>;
}

export function probeHealth(hub: Pick<HubProcess, "url" | "pid">, name: string): HealthCheck {
  const probe = startHealthProbe(hub.url);
  onTestFinished(probe.stop);
  return {
    async expectHealthy({ maxMegabytes = 500 } = {}) {
      const { latencies, failed } = await probe.report();
      probe.stop();
      const worst = Math.max(...latencies);
      const megabytes = peakMegabytes(hub.pid);
      console.info(
        `${name}: worst /healthz ${worst.toFixed(0)} ms of ${latencies.length}, peak RSS ${megabytes} MB`,
      );
      expect(failed).toBe(0);
      expect(latencies.length).toBeGreaterThan(0);
      expect(worst).toBeLessThan(MAX_HEALTH_MS);
      if (megabytes !== undefined) expect(megabytes).toBeLessThan(maxMegabytes);
    },
  };
}

/** The peak since the process started; undefined on systems without `/proc`. */
const peakMegabytes = (pid: number) => readMegabytes(pid, "VmHWM");
export const residentMegabytes = (pid: number) => readMegabytes(pid, "VmRSS");

function readMegabytes(pid: number, field: string): number | undefined {
  const file = `/proc/${pid}/status`;
  if (!existsSync(file)) return undefined;
  const line = readFileSync(file, "utf8")
    .split("\n")
    .find((one) => one.startsWith(field));
  const kilobytes = /(\d+) kB$/.exec(line ?? "")?.[1];
  return kilobytes === undefined ? undefined : Math.round(Number(kilobytes) / 1024);
}
