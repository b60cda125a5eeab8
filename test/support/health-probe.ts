/** Measures a hub from another process while a test attacks it: `/healthz`, and the peak memory. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { expect, onTestFinished } from "vitest";
import type { HubProcess } from "./hub-process.ts";

/** On a quiet machine (`SIGNALBOX_QUIET=1`), and on one that runs other tests. */
const MAX_HEALTH_MS = process.env.SIGNALBOX_QUIET === "1" ? 150 : 5_000;

/** Asks every 5 ms; prints the longest time when its input ends. */
const PROBE = `
  const http = require("node:http");
  const agent = new http.Agent({ keepAlive: true });
  let worst = 0, count = 0, failed = 0, ending = false;
  process.stdin.resume().on("end", () => { ending = true; });
  const ask = () => {
    if (ending) { console.log(JSON.stringify({ worst, count, failed })); process.exit(0); }
    const begun = performance.now();
    const next = () => setTimeout(ask, 5);
    http.get(process.argv[1] + "/healthz", { agent }, (response) => {
      if (response.statusCode !== 200) failed += 1;
      response.resume().on("end", () => {
        worst = Math.max(worst, performance.now() - begun);
        count += 1;
        next();
      });
    }).on("error", () => { failed += 1; next(); });
  };
  ask();
`;

interface HealthProbe {
  /** Ends the measurement, reports it, and expects that it is within the limits. */
  expectHealthy(limits?: { maxMegabytes?: number }): Promise<void>;
}

export function probeHealth(hub: Pick<HubProcess, "url" | "pid">, name: string): HealthProbe {
  const child = spawn(process.execPath, ["-e", PROBE, hub.url], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  onTestFinished(() => void child.kill("SIGKILL"));
  let output = "";
  child.stdout.on("data", (chunk: Buffer) => {
    output += chunk;
  });
  return {
    async expectHealthy({ maxMegabytes = 500 } = {}) {
      child.stdin.end();
      await once(child, "close");
      const { worst, count, failed } = JSON.parse(output) as Record<string, number>;
      const megabytes = peakMegabytes(hub.pid);
      console.info(
        `${name}: worst /healthz ${worst?.toFixed(0)} ms of ${count}, peak RSS ${megabytes} MB`,
      );
      expect(failed).toBe(0);
      expect(count).toBeGreaterThan(0);
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
