/** Builds steps for tests. `from` and `to` are milliseconds after a fixed time; `to` is null if it is running. */
import type { Step } from "../canvas/run-states.ts";

export const timeAt = (ms: number): string => new Date(Date.UTC(2026, 0, 1) + ms).toISOString();

export const step = (
  nth: number,
  node_id: string,
  { from = 0, to = from, ...rest }: Partial<Step> & { from?: number; to?: number | null } = {},
): Step => ({
  nth,
  node_id,
  item: "",
  attempt: 1,
  status: to === null ? "running" : "done",
  port: to === null ? null : "out",
  input: null,
  output: null,
  error: null,
  log: [],
  started_at: timeAt(from),
  finished_at: to === null ? null : timeAt(to),
  ...rest,
});
