/** What new events cause, stored with them: the verdict of each trigger, and the runs to come. */
import type { Reason } from "@signalbox/rules/match/match-trigger.ts";
import type { LaneLimit, TrippedTrigger } from "../run-store.ts";
import { type Dialect, insert, type Value, type Verb } from "../sql.ts";
import { type Caused, guardLoops } from "./breakers.ts";
import { addRuns } from "./queue-runs.ts";
import { tellPending } from "./run-events.ts";

const VERDICT = [
  "tenant_id",
  "event_id",
  "flow_id",
  "node_id",
  "version",
  "matched",
  "reasons",
  "run_id",
];

/** Answers with the triggers that were stopped, and will not run. */
export function* storeCauses(dialect: Dialect, planned: readonly Caused[]): Verb<TrippedTrigger[]> {
  const guard = yield* guardLoops(dialect, planned);
  const runs = planned.flatMap((one) => one.runs);
  // A run may join another that is still to begin, and then the event belongs to that one.
  const ids = runs.length === 0 ? [] : yield* addRuns(dialect, runs, { tell: tellPending, guard });
  let next = 0;
  const verdicts: Value[][] = [];
  for (const one of planned) {
    for (const verdict of one.verdicts) {
      const run = verdict.matched ? runs[next] : undefined;
      const id = verdict.matched ? (ids[next++] ?? null) : null;
      const { flow_id, node_id, version, matched, reasons } = guard.judge(one, verdict, run);
      const skipped = matched && id === null ? run?.limit : undefined;
      const told = skipped ? [...reasons, skippedAt(skipped)] : reasons;
      const row = [matched ? 1 : 0, JSON.stringify(told), id];
      verdicts.push([one.tenant, one.event_id, flow_id, node_id, version, ...row]);
    }
  }
  yield* insert("verdicts", VERDICT, verdicts);
  return yield* guard.save();
}

const skippedAt = ({ most }: LaneLimit): Reason => ({
  on: "concurrency",
  holds: false,
  message: `skipped: it may have ${most} ${most === 1 ? "run" : "runs"} under way at once, and had as many`,
});
