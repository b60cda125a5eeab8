/**
 * Reads which runs wait to be claimed, and what the runs in the memory of workers wait for. The cost is
 * bounded, however many runs wait: counts stop at a maximum, and only some flows are counted.
 */

import {
  type Dialect,
  execute,
  first,
  inLists,
  insert,
  query,
  type Value,
  type Verb,
} from "../../../kernel/store/sql.ts";
import { read, write } from "../../../kernel/store/verb.ts";
import {
  type FlowQueue,
  MAX_QUEUE_FLOWS,
  MAX_RUN_WAITS,
  type QueueReport,
  type RunWait,
} from "../model.ts";
import type { RunQueue } from "./run-queues.ts";

/** How many of the first due runs are read to find the one that has waited longest. */
const OLDEST_OF = 10;
/** A worker that has stopped without removing its report no longer counts after this time. */
const REPORT_LIFETIME_MS = 60_000;

const DUE =
  "FROM runs WHERE tenant_id = ? AND app = ? AND flow_id = ? AND status IN ('queued', 'waiting') AND due_at <= ?";

type MeasuredQueue = Omit<FlowQueue, "flow_name"> & { tenant: string };

function* measure(queues: readonly RunQueue[], now: number, max: number): Verb<MeasuredQueue[]> {
  const measured: MeasuredQueue[] = [];
  for (const { tenant_id, app, flow_id } of queues) {
    const key = [tenant_id, app, flow_id, now];
    const counted = yield* first<{ count: number }>(
      `SELECT count(*) AS count FROM (SELECT 1 ${DUE} LIMIT ?) AS picked`,
      [...key, max],
    );
    const oldest = yield* query<{ due_at: number; created_at: number }>(
      `SELECT due_at, created_at ${DUE} ORDER BY due_at LIMIT ${OLDEST_OF}`,
      key,
    );
    if (oldest.length === 0) continue;
    measured.push({
      tenant: tenant_id,
      app,
      flow_id,
      queued: Number(counted?.count),
      held: 0,
      // A run that was held gets a `due_at` before its creation; see `ADMIT`.
      since: Math.min(...oldest.map(({ due_at, created_at }) => Math.max(due_at, created_at))),
    });
  }
  return measured;
}

/** Reads which runs of the tenant wait, and for what. Each count stops at `max`. */
export const readQueue = read(
  "tenant",
  function* (tenant: string, now: number, max: number): Verb<QueueReport> {
    const due = yield* query<RunQueue>(
      "SELECT tenant_id, app, flow_id FROM flow_queues WHERE tenant_id = ? AND due_at <= ? ORDER BY due_at LIMIT ?",
      [tenant, now, MAX_QUEUE_FLOWS + 1],
    );
    const flows = new Map<string, Omit<FlowQueue, "flow_name">>();
    for (const { tenant: _, ...flow } of yield* measure(due.slice(0, MAX_QUEUE_FLOWS), now, max))
      flows.set(flow.flow_id, flow);
    const heldOf = yield* countHeld(tenant, max);
    for (const { app, flow_id, held } of heldOf.slice(0, MAX_QUEUE_FLOWS)) {
      const flow = flows.get(flow_id) ?? { app, flow_id, queued: 0, since: null };
      flows.set(flow_id, { ...flow, held });
    }
    const reports = yield* query<{ waits: string }>(
      "SELECT waits FROM run_waits WHERE tenant_id = ? AND at > ? ORDER BY worker",
      [tenant, now - REPORT_LIFETIME_MS],
    );
    const allWaits = mergeWaits(reports.flatMap(({ waits }) => JSON.parse(waits) as RunWait[]));
    const waits = allWaits.slice(0, MAX_RUN_WAITS);
    const ids = new Set([
      ...flows.keys(),
      ...waits.flatMap(({ flow_id, kind, target }) =>
        kind === "run" ? [flow_id, target] : flow_id,
      ),
    ]);
    const names = yield* readNames(this.dialect, tenant, [...ids]);
    const withName = <Flow extends { flow_id: string }>(flow: Flow) => ({
      ...flow,
      flow_name: names.get(flow.flow_id) ?? null,
    });
    return {
      flows: [...flows.values()]
        .map(withName)
        .sort((a, b) => b.queued + b.held - a.queued - a.held),
      more_flows: due.length > MAX_QUEUE_FLOWS,
      more_held_flows: heldOf.length > MAX_QUEUE_FLOWS,
      waits: waits.map((wait) => ({
        ...withName(wait),
        target: wait.kind === "run" ? (names.get(wait.target) ?? wait.target) : wait.target,
      })),
      more_waits: allWaits.length > MAX_RUN_WAITS,
    };
  },
);

/** Counts the held runs of each flow, up to `max`. Returns at most one flow more than `MAX_QUEUE_FLOWS`. */
function* countHeld(
  tenant: string,
  max: number,
): Verb<Pick<FlowQueue, "app" | "flow_id" | "held">[]> {
  const counted: Pick<FlowQueue, "app" | "flow_id" | "held">[] = [];
  while (counted.length <= MAX_QUEUE_FLOWS) {
    const next = yield* first<Pick<FlowQueue, "app" | "flow_id">>(
      "SELECT app, flow_id FROM runs WHERE tenant_id = ? AND status = 'held' AND flow_id > ? ORDER BY flow_id LIMIT 1",
      [tenant, counted.at(-1)?.flow_id ?? ""],
    );
    if (!next) break;
    const count = yield* first<{ held: number }>(
      "SELECT count(*) AS held FROM (SELECT 1 FROM runs WHERE tenant_id = ? AND status = 'held' AND flow_id = ? LIMIT ?) AS picked",
      [tenant, next.flow_id, max],
    );
    counted.push({ ...next, held: Number(count?.held) });
  }
  return counted;
}

/** Adds up what several workers have reported. */
function mergeWaits(waits: readonly RunWait[]): RunWait[] {
  const merged = new Map<string, RunWait>();
  for (const wait of waits) {
    const key = JSON.stringify([wait.flow_id, wait.kind, wait.target]);
    const known = merged.get(key);
    merged.set(key, {
      ...wait,
      ...(known && {
        runs: known.runs + wait.runs,
        since: Math.min(known.since, wait.since),
        run_ids: [...known.run_ids, ...wait.run_ids],
      }),
    });
  }
  return [...merged.values()].sort((a, b) => b.runs - a.runs);
}

function* readNames(
  dialect: Dialect,
  tenant: string,
  flows: readonly string[],
): Verb<Map<string, string>> {
  const names = new Map<string, string>();
  for (const { list, params } of inLists(flows, dialect, 1))
    for (const { id, name } of yield* query<{ id: string; name: string }>(
      `SELECT id, name FROM flows WHERE id IN ${list} AND tenant_id = ? AND deleted = 0`,
      [...params, tenant],
    ))
      names.set(id, name);
  return names;
}

/**
 * Counts the queued runs of all tenants by flow. Each count stops at `max`, and of many flows only those
 * that were served longest ago are counted.
 */
export const measureQueues = read("own", function* (now: number, max: number): Verb<
  Pick<MeasuredQueue, "tenant" | "queued" | "since">[]
> {
  const due = yield* query<RunQueue>(
    "SELECT tenant_id, app, flow_id FROM flow_queues WHERE due_at <= ? ORDER BY due_at LIMIT ?",
    [now, MAX_QUEUE_FLOWS],
  );
  return yield* measure(due, now, max);
});

/** Replaces what a worker has reported about the waits of its runs. */
export const saveRunWaits = write(
  "own",
  function* (
    worker: string,
    at: number,
    waits: readonly (RunWait & { tenant: string })[],
  ): Verb<void> {
    // Also removes the reports of workers that have stopped without doing so.
    yield* execute("DELETE FROM run_waits WHERE worker = ? OR at < ?", [
      worker,
      at - REPORT_LIFETIME_MS,
    ]);
    const rows = [...Map.groupBy(waits, ({ tenant }) => tenant)].map(
      ([tenant, ofTenant]): Value[] => [
        tenant,
        worker,
        at,
        JSON.stringify(ofTenant.map(({ tenant: _, ...wait }) => wait)),
      ],
    );
    yield* insert("run_waits", ["tenant_id", "worker", "at", "waits"], rows);
  },
);
