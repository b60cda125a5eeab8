/** What a run's worker has to say of it. */
import { openStepError, type RunProgress, type Step } from "../run-store.ts";
import { type Dialect, inLists, insert, notify, query, type Value, type Verb } from "../sql.ts";
import { cancelCalled, creditCallers } from "./called-runs.ts";
import { closeSteps } from "./close-steps.ts";
import { tellEvents } from "./run-events.ts";
import { enqueue, isLimited, letIn, lockQueues, type Turns, wantTurn } from "./run-queues.ts";
import { type RunRow, STEP_COLUMNS, stepValues } from "./run-rows.ts";

type Next = NonNullable<RunProgress["next"]>;
/** Not what it holds: a run may be large, and every step of it comes this way. */
const HELD = [
  "id",
  "tenant_id",
  "event_id",
  "parent_run",
  "depth",
  "gathered_count",
  "lane",
  "lane_limit",
  "claims",
  "idle_claims",
  "cancel_asked",
  "woken",
] as const;
type Held = Pick<RunRow, (typeof HELD)[number]>;

interface Leaving {
  row: Held;
  next: Next;
  now: number;
}

export function* saveProgress(
  dialect: Dialect,
  batch: readonly RunProgress[],
): Verb<("saved" | "lost")[]> {
  const held = yield* lockHeld(dialect, batch);
  const steps = new Map<string, Value[]>();
  const leaving: Leaving[] = [];
  const moved = new Set<string>();
  const callers = new Set<string>();
  const outcomes = batch.map(({ run, claim, steps: done, next, now }) => {
    const row = held.get(run);
    if (row?.claims !== claim) return "lost";
    for (const step of done)
      steps.set(
        JSON.stringify([run, step.node_id, step.item, step.attempt]),
        stepValues(run, step),
      );
    const hasMoved = next !== undefined || done.some(isProgress);
    if (row.idle_claims > 1 && !next && hasMoved) moved.add(run);
    if (row.parent_run !== null && hasMoved) callers.add(row.parent_run);
    if (next) {
      held.delete(run);
      leaving.push({ row, next: endIfCancelled(row, next), now });
    }
    return "saved";
  });
  yield* insert(
    "steps",
    STEP_COLUMNS,
    [...steps.values()],
    "ON CONFLICT (run_id, node_id, item, attempt) DO UPDATE SET status = excluded.status, port = excluded.port, " +
      "input = excluded.input, output = excluded.output, error = excluded.error, log = excluded.log, " +
      "started_at = excluded.started_at, finished_at = excluded.finished_at",
  );
  for (const { list, params } of inLists([...moved].sort(), dialect, 0))
    yield* query(`UPDATE runs SET idle_claims = 0 WHERE id IN ${list}`, params);
  if (callers.size > 0) yield* creditCallers(dialect, callers);
  yield* leave(dialect, leaving);
  return outcomes;
}

/** A step that was interrupted is begun again by whoever takes its run over: that alone is none. */
const isProgress = ({ status }: Step): boolean => status !== "running";

function* lockHeld(dialect: Dialect, batch: readonly RunProgress[]): Verb<Map<string, Held>> {
  const held = new Map<string, Held>();
  const ids = [...new Set(batch.map(({ run }) => run))].sort();
  for (const { list, params } of inLists(ids, dialect, 0))
    for (const row of yield* query<Held>(
      `SELECT ${HELD.join(", ")} FROM runs WHERE id IN ${list} AND status = 'running' ORDER BY id${dialect.forUpdate}`,
      params,
    ))
      held.set(row.id, row);
  return held;
}

const goesOn = (next: Next) => next.status === "waiting" || next.status === "queued";

/** Nobody would be at work on it to hear of it. */
const endIfCancelled = (row: Held, next: Next): Next =>
  row.cancel_asked === 1 && goesOn(next) ? { status: "cancelled" } : next;

/** Those that are over, and with them what they called that would have waited. */
function findOver(leaving: readonly Leaving[]): string[] {
  const over = new Set<string>();
  for (const one of leaving.toSorted((a, b) => a.row.depth - b.row.depth)) {
    if (over.has(one.row.parent_run ?? "") && goesOn(one.next)) one.next = { status: "cancelled" };
    if (!goesOn(one.next)) over.add(one.row.id);
  }
  return [...over];
}

/** Nobody works on them any longer: they are at their end, or to be taken again later. */
function* leave(dialect: Dialect, leaving: readonly Leaving[]): Verb<void> {
  const [first] = leaving;
  if (!first) return;
  yield* cancelCalled(dialect, findOver(leaving), first.now);
  const queued = leaving.filter(({ row, next }) => isLimited(row) || goesOn(next));
  yield* lockQueues(
    dialect,
    queued.map(({ row }) => row.tenant_id),
  );
  const turns: Turns = new Map();
  for (const { row, next, now } of leaving) {
    if (next.status === "waiting" || next.status === "queued") {
      const due = row.woken === 1 && next.status === "waiting" ? now : next.due_at;
      yield* query(
        "UPDATE runs SET status = ?, due_at = ?, worker = NULL, woken = 0, idle_claims = 0 WHERE id = ?",
        [next.status, due, row.id],
      );
      if (due !== null) wantTurn(turns, row.tenant_id, due);
    } else {
      const output = next.status === "succeeded" ? next.output : null;
      const error = next.status === "failed" ? next.error : null;
      yield* query(
        "UPDATE runs SET status = ?, output = ?, error = ?, finished_at = ?, worker = NULL, woken = 0 WHERE id = ?",
        [next.status, JSON.stringify(output), JSON.stringify(error), now, row.id],
      );
      // Its worker may not have known: it had only wanted to wait.
      if (next.status === "cancelled")
        yield* closeSteps(row.id, now, (node) => openStepError("cancelled", node));
      yield* notify({ topic: "run_ended", tenant: row.tenant_id, run: row.id });
    }
    yield* letIn(dialect, row, now, turns);
  }
  yield* enqueue(turns);
  yield* tellEvents(
    dialect,
    leaving.map(({ row }) => row),
  );
}
