import { signedDeliveries } from "./delivery.ts";
import type { LoadPlan, LoadReport } from "./load.ts";
import type { Load } from "./load-process.ts";
import { cpuSeconds, cpuSecondsOfFamily } from "./process-facts.ts";
import type { Target } from "./target.ts";

export interface Measured extends LoadReport {
  serverCpuSeconds: number;
  databaseCpuSeconds: number;
  /** Requests for each second that the server spent on a CPU. */
  perCpuSecond: number;
  /** What the server counted as stored in this run; undefined where it does not count. */
  stored: number | undefined;
}

export type Shape = Pick<LoadPlan, "connections" | "requests" | "seconds"> & { rate?: number };

/** One run against one server, with the CPU that it took and a check that nothing was lost. */
export async function measure(load: Load, target: Target, shape: Shape): Promise<Measured> {
  const { pid, databasePid } = target;
  const database = () => (databasePid === undefined ? 0 : cpuSecondsOfFamily(databasePid));
  const storedBefore = await target.stored?.();
  const before = { server: cpuSeconds(pid), database: database() };
  const report = await load.run({ rate: undefined, ...shape, ...signedDeliveries(target.port) });
  const serverCpuSeconds = cpuSeconds(pid) - before.server;
  const databaseCpuSeconds = database() - before.database;
  const storedAfter = await target.stored?.();
  const stored =
    storedAfter === undefined || storedBefore === undefined
      ? undefined
      : storedAfter - storedBefore;
  return {
    ...report,
    valid: report.valid && (stored === undefined || stored === report.accepted),
    serverCpuSeconds,
    databaseCpuSeconds,
    perCpuSecond: report.answered / serverCpuSeconds,
    stored,
  };
}

/** What made a run invalid, in words; empty where nothing did. */
export function complaints(
  target: string,
  { valid, statuses, failures, accepted, stored }: Measured,
): string[] {
  if (valid) return [];
  const answers = Object.entries(statuses)
    .map(([status, count]) => `${count} × ${status}`)
    .join(", ");
  return [
    `${target}: INVALID: ${answers || "no answers"}; ${failures} failed; ` +
      `${accepted} acknowledged, ${stored ?? "unknown"} stored`,
  ];
}
