import { expect, it } from "vitest";
import type { ClaimedRun, RunProgress, Step } from "../store/run-store.ts";
import { observeProgress } from "./run-metrics.ts";

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
  ({ node_id, status, started_at: 1_100, finished_at }) as Step;

async function reported(saved: "saved" | "lost", ...progress: Partial<RunProgress>[]) {
  const reports: unknown[][] = [];
  const save = observeProgress(async () => saved, claimed, {
    run: (...report) => reports.push(["run", ...report]),
    step: (...report) => reports.push(["step", ...report]),
  });
  for (const one of progress)
    expect(await save({ run: "r", claim: 1, steps: [], now: 1_500, ...one })).toBe(saved);
  return reports;
}

const ended: Partial<RunProgress> = { next: { status: "succeeded", output: null } };

it("reports ended attempts with the type of their node, and ended runs", async () => {
  const steps = [
    step("start", "done", 1_100),
    step("call", "failed", 1_300),
    step("call", "done", 1_400),
    step("gone", "done", 1_101),
  ];
  expect(await reported("saved", { steps, ...ended })).toEqual([
    ["step", "HttpRequest", "failed", 200],
    ["step", "HttpRequest", "done", 300],
    ["step", "", "done", 1],
    ["run", "succeeded", 500],
  ]);
});

it("does not report open and skipped steps, suspensions, or what was not saved", async () => {
  const open = [
    step("call", "running", null),
    step("call", "waiting", null),
    step("call", "skipped", 1_100),
    step("call", "retried", 1_200),
  ];
  const suspended = { next: { status: "waiting", due_at: null } } as const;
  expect(await reported("saved", { steps: open }, suspended)).toEqual([]);
  expect(await reported("lost", { steps: [step("call", "done", 1_200)], ...ended })).toEqual([]);
});
