/** Starts a process that measures `/healthz` of a hub. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { HealthReport } from "./health-probe-process.ts";

export interface HealthProbe {
  /** Reports the responses since the previous report. */
  report(): Promise<HealthReport>;
  stop(): void;
}

/** `pid` is the process id of the hub. Without it, all reported CPU times are 0. */
export function startHealthProbe(url: string, pid?: number): HealthProbe {
  const file = fileURLToPath(new URL("health-probe-process.ts", import.meta.url));
  const child = fork(file, [url, String(pid)], { execArgv: [], serialization: "advanced" });
  return {
    async report() {
      child.send("report");
      const [report] = (await once(child, "message")) as [HealthReport];
      return report;
    },
    stop: () => void child.kill("SIGKILL"),
  };
}
