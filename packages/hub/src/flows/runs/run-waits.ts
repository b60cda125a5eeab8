/**
 * Tracks what the runs in the memory of this process wait for, and reports it in the store, where every
 * process reads it. A report contains only waits that have lasted a while. So a hub whose servers answer
 * reports nothing, and an idle hub sets no timer.
 */
import type { Timers } from "../../kernel/lib/timers.ts";
import type { Store } from "../../store.ts";
import { MAX_RUN_WAITS, type Run, type RunWait } from "./model.ts";

type WaitingRun = Pick<Run, "id" | "tenant" | "app" | "flow_id">;
type ReportedWait = RunWait & Pick<WaitingRun, "tenant">;

export interface RunWaits {
  /** Registers that a run waits; the returned function removes the registration. */
  begin(run: WaitingRun, kind: RunWait["kind"], target: string): () => void;
  close(): Promise<void>;
}

export interface RunWaitsOptions {
  store: Pick<Store, "saveRunWaits">;
  worker: string;
  timers: Pick<Timers, "now" | "after">;
  onError(error: unknown): void;
}

const REPORT_EVERY_MS = 2_000;
/** A report without changes is written again after this time, so that readers know that it is current. */
const REFRESH_MS = 20_000;
/** Shorter waits are not reported. */
const MIN_WAIT_MS = 1_000;
const MAX_IDS = 10;

export function createRunWaits({ store, worker, timers, onError }: RunWaitsOptions): RunWaits {
  const waits = new Set<{
    run: WaitingRun;
    kind: RunWait["kind"];
    target: string;
    since: number;
  }>();
  let saved = { at: 0, text: "[]" };
  let cancelTimer: (() => void) | undefined;
  let saving = Promise.resolve();

  /** The largest groups of each tenant. */
  const list = (): ReportedWait[] => {
    const groups = new Map<
      string,
      { group: Omit<ReportedWait, "runs" | "run_ids">; ids: Set<string> }
    >();
    const until = timers.now() - MIN_WAIT_MS;
    for (const { run, kind, target, since } of waits) {
      if (since > until) continue;
      const { id, tenant, app, flow_id } = run;
      const key = JSON.stringify([tenant, flow_id, kind, target]);
      let known = groups.get(key);
      if (!known) {
        known = { group: { tenant, app, flow_id, kind, target, since }, ids: new Set() };
        groups.set(key, known);
      }
      known.group.since = Math.min(known.group.since, since);
      // A set, because several branches of a run can wait for the same thing.
      known.ids.add(id);
    }
    const sorted = [...groups.values()]
      .map(({ group, ids }) => ({ ...group, runs: ids.size, run_ids: [...ids].slice(0, MAX_IDS) }))
      .sort((a, b) => b.runs - a.runs);
    const ofTenants = Map.groupBy(sorted, ({ tenant }) => tenant).values();
    return [...ofTenants].flatMap((ofTenant) => ofTenant.slice(0, MAX_RUN_WAITS + 1));
  };
  const save = async (report: ReportedWait[]): Promise<void> => {
    const at = timers.now();
    const text = JSON.stringify(report);
    if (text === saved.text && (report.length === 0 || at < saved.at + REFRESH_MS)) return;
    await store.saveRunWaits(worker, at, report);
    saved = { at, text };
  };
  const schedule = () => {
    cancelTimer ??= timers.after(REPORT_EVERY_MS, () => {
      saving = save(list())
        .catch(onError)
        .then(() => {
          if (!cancelTimer) return;
          cancelTimer = undefined;
          if (waits.size > 0 || saved.text !== "[]") schedule();
        });
    });
  };

  return {
    begin(run, kind, target) {
      const wait = { run, kind, target, since: timers.now() };
      waits.add(wait);
      schedule();
      return () => void waits.delete(wait);
    },
    async close() {
      cancelTimer?.();
      cancelTimer = undefined;
      await saving;
      await save([]).catch(onError);
    },
  };
}
