import type { LoadPlan, LoadReport } from "./load.ts";
import type { Load } from "./load-process.ts";
import { cpuSeconds, cpuSecondsWithChildren } from "./process-stats.ts";
import { signedWebhooks } from "./signed-webhooks.ts";
import type { Target } from "./target.ts";

export interface Measurement extends LoadReport {
  serverCpuSeconds: number;
  databaseCpuSeconds: number;
  /** Requests per second of the server's CPU time. */
  perCpuSecond: number;
  /** Events that the server counted as stored; undefined for servers without a counter. */
  stored: number | undefined;
}

export type LoadShape = Pick<LoadPlan, "connections" | "requests" | "seconds"> & { rate?: number };

/** Puts load on one server, measures its CPU time and checks that no event was lost. */
export async function measure(load: Load, target: Target, shape: LoadShape): Promise<Measurement> {
  const { pid, databasePid } = target;
  const readDatabaseCpu = () =>
    databasePid === undefined ? 0 : cpuSecondsWithChildren(databasePid);
  const storedBefore = await target.stored?.();
  const before = { server: cpuSeconds(pid), database: readDatabaseCpu() };
  const requests = target.makeRequests?.() ?? signedWebhooks(target.port);
  const report = await load.run({ rate: undefined, ...shape, ...requests });
  const serverCpuSeconds = cpuSeconds(pid) - before.server;
  const databaseCpuSeconds = readDatabaseCpu() - before.database;
  const storedAfter = await target.stored?.();
  const stored =
    storedAfter === undefined || storedBefore === undefined
      ? undefined
      : storedAfter - storedBefore;
  return {
    ...report,
    isValid: report.isValid && (stored === undefined || stored === report.accepted),
    serverCpuSeconds,
    databaseCpuSeconds,
    perCpuSecond: report.completed / serverCpuSeconds,
    stored,
  };
}

/** Describes why a measurement is invalid; empty for a valid one. */
export function invalidReasons(
  target: string,
  { isValid, statuses, failures, accepted, stored }: Measurement,
): string[] {
  if (isValid) return [];
  const responses = Object.entries(statuses)
    .map(([status, count]) => `${count} × ${status}`)
    .join(", ");
  return [
    `${target}: INVALID: ${responses || "no responses"}; ${failures} failed; ` +
      `${accepted} acknowledged, ${stored ?? "unknown"} stored`,
  ];
}
