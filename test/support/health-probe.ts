/** Measures a hub from another process while a test attacks it: `/healthz`, and the peak memory. */
import { existsSync, readFileSync } from "node:fs";
import { expect, onTestFinished } from "vitest";
import type { HubProcess } from "./hub-process.ts";
import { startHealthProbe } from "./start-health-probe.ts";

const isQuiet = process.env.SIGNALBOX_QUIET === "1";
const MAX_HEALTH_MS = 150;
/** CPU time of the hub during one response, on a machine that also runs other tests. */
const MAX_BUSY_MS = 1_500;

interface HealthCheck {
  /** Ends the measurement, reports it, and expects that it is within the limits. */
  expectHealthy(limits?: { maxMegabytes?: number }): Promise<void>;
}

export function probeHealth(hub: Pick<HubProcess, "url" | "pid">, name: string): HealthCheck {
  const probe = startHealthProbe(hub.url, hub.pid);
  onTestFinished(probe.stop);
  return {
    async expectHealthy({ maxMegabytes = 500 } = {}) {
      const { latencies, busy, failed } = await probe.report();
      probe.stop();
      const worst = Math.max(...latencies);
      const worstBusy = Math.max(...busy);
      const megabytes = peakMegabytes(hub.pid);
      console.info(
        `${name}: worst /healthz ${worst.toFixed(0)} ms of ${latencies.length}, the hub busy for ${worstBusy.toFixed(0)} ms of one, peak RSS ${megabytes} MB`,
      );
      expect(failed).toBe(0);
      expect(latencies.length).toBeGreaterThan(0);
      if (isQuiet) expect(worst).toBeLessThan(MAX_HEALTH_MS);
      else expect(worstBusy).toBeLessThan(MAX_BUSY_MS);
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
