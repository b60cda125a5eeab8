/** What new events cause, stored with them: the verdict of each trigger, and the runs to come. */
import type { EventPlan } from "../run-store.ts";
import { type Dialect, insert, type Value, type Verb } from "../sql.ts";
import { addRuns } from "./queue-runs.ts";
import { tellPending } from "./run-events.ts";

export interface Caused extends EventPlan {
  tenant: string;
  event_id: string;
}

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

export function* storeCauses(dialect: Dialect, caused: readonly Caused[]): Verb<void> {
  const runs = caused.flatMap((one) => one.runs);
  // A run may join another that is still to begin, and then the event belongs to that one.
  const ids = runs.length === 0 ? [] : yield* addRuns(dialect, runs, tellPending);
  let next = 0;
  const verdicts: Value[][] = [];
  for (const { tenant, event_id, verdicts: found } of caused) {
    for (const { flow_id, node_id, version, matched, reasons } of found) {
      const run = matched ? (ids[next++] ?? null) : null;
      const row = [matched ? 1 : 0, JSON.stringify(reasons), run];
      verdicts.push([tenant, event_id, flow_id, node_id, version, ...row]);
    }
  }
  yield* insert("verdicts", VERDICT, verdicts);
}
