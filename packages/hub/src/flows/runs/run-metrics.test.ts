import { expect, test } from "vitest";
import type { Notice } from "../../kernel/store/sql.ts";
import type { ClaimedRun, RunProgress, Step } from "./model.ts";
import { measureByTenant, observeEnds, observeSteps } from "./run-metrics.ts";

const claimed = {
  run: { id: "r", trigger_node: "start", started_at: 1_000 },
  graph: {
    nodes: [
      { id: "start", type: "UserIntent" },
      { id: "call", type: "HttpRequest" },
    ],
  },
} as unknown as ClaimedRun;

const step = (node_id: string, status: Step["status"], finished_at: number | null): Step =>
  ({ node_id, item: "", status, started_at: 1_100, finished_at }) as Step;

function createRecorder() {
  const reports: unknown[][] = [];
  const metrics = {
    observeRun: (...report: unknown[]) => void reports.push(["run", ...report]),
    observeStep: (...report: unknown[]) => void reports.push(["step", ...report]),
  };
  return { reports, metrics };
}

test("does not report the steps of pinned nodes", async () => {
  const { reports, metrics } = createRecorder();
  const pinned = step("call", "done", 1_100);
  const save = observeSteps(async () => "saved", claimed, metrics, [pinned]);
  await save({ run: "r", claim: 1, steps: [{ ...pinned }], now: 1_500 });
  expect(reports).toEqual([]);
});

async function reportsOf(saved: "saved" | "lost", ...progress: Partial<RunProgress>[]) {
  const { reports, metrics } = createRecorder();
  const save = observeSteps(async () => saved, claimed, metrics);
  for (const fields of progress)
    expect(await save({ run: "r", claim: 1, steps: [], now: 1_500, ...fields })).toBe(saved);
  return reports;
}

test("reports the runs that end in commits of this process", () => {
  const { reports, metrics } = createRecorder();
  let notify: (notice: Notice) => void = () => {};
  const stop = observeEnds(
    {
      onCommit(listener) {
        notify = listener;
        return () => {
          notify = () => {};
        };
      },
    },
    metrics,
  );
  const ended = { topic: "run_ended", tenant: "t", run: "r" } as const;
  notify({ ...ended, status: "failed", took: 500 });
  notify({ ...ended, status: "cancelled", took: null });
  notify({ topic: "run_cancel", run: "r" });
  stop();
  notify({ ...ended, status: "failed", took: 500 });
  expect(reports).toEqual([
    ["run", "failed", 500],
    ["run", "cancelled", null],
  ]);
});

test("reports each ended attempt once, with the type of its node", async () => {
  const steps = [
    step("start", "done", 1_100),
    step("call", "failed", 1_300),
    step("call", "done", 1_400),
    step("gone", "done", 1_101),
  ];
  expect(await reportsOf("saved", { steps }, { steps })).toEqual([
    ["step", "HttpRequest", "failed", 200],
    ["step", "HttpRequest", "done", 300],
    ["step", "", "done", 1],
  ]);
});

test("does not report open and skipped steps, or steps that were not saved", async () => {
  const openSteps = [
    step("call", "running", null),
    step("call", "waiting", null),
    step("call", "skipped", 1_100),
    step("call", "retried", 1_200),
  ];
  expect(await reportsOf("saved", { steps: openSteps })).toEqual([]);
  expect(await reportsOf("lost", { steps: [step("call", "done", 1_200)] })).toEqual([]);
});

const measure = (flows: { tenant: string; queued: number; since: number }[]) =>
  measureByTenant({ measureQueues: async () => flows }, 1_000);

test("adds up the flows of a tenant, the tenant that has waited longest first", async () => {
  expect(
    await measure([
      { tenant: "a", queued: 2, since: 900 },
      { tenant: "b", queued: 1, since: 500 },
      { tenant: "a", queued: 3, since: 800 },
    ]),
  ).toEqual([
    { tenant: "b", queued: 1, oldestMs: 500 },
    { tenant: "a", queued: 5, oldestMs: 200 },
  ]);
});

test("counts the tenants after the first 20 together", async () => {
  const flows = Array.from({ length: 25 }, (_, index) => ({
    tenant: `t${index}`,
    queued: 1,
    since: index,
  }));
  const tenants = await measure(flows);
  expect(tenants).toHaveLength(21);
  expect(tenants[0]).toEqual({ tenant: "t0", queued: 1, oldestMs: 1_000 });
  expect(tenants.at(-1)).toEqual({ tenant: "other", queued: 5, oldestMs: 980 });
});
