import { expect, it } from "vitest";
import type { StoredApp } from "../store/flow-store.ts";
import type { Step } from "../store/run-store.ts";
import { progressOf } from "./app-progress.ts";

const node = (id: string) => ({ id, name: id.toUpperCase() });
const edge = (source: string, target: string) => ({ source, sourceHandle: "out", target });
const step = (node_id: string, status: Step["status"], item = "") =>
  ({ node_id, status, item }) as Step;

async function setup(asked: { progressToken?: string } = { progressToken: "p" }) {
  const told: unknown[] = [];
  const reader = { full: false };
  const onStep = await progressOf({
    store: {
      findTool: async () => ({ alias: false, trigger: { node_id: "go" } as never }),
      getVersion: async () =>
        ({
          nodes: ["go", "each", "body", "end", "another"].map(node),
          edges: [
            edge("go", "each"),
            edge("each", "body"),
            edge("each", "end"),
            edge("another", "end"),
          ],
        }) as never,
    },
    app: {} as StoredApp,
    tool: "go",
    mcpReq: {
      _meta: asked,
      async notify({ params }: { params?: unknown }) {
        told.push(params);
        throw new Error("The client has gone.");
      },
    } as never,
    backPressure: { isFull: () => reader.full, sent() {} },
    now: 0,
  });
  return { onStep, told, reader };
}

it("counts what is over, once each, out of what the trigger reaches", async () => {
  const { onStep, told } = await setup();
  for (const one of [
    step("go", "running"),
    step("go", "done"),
    step("each", "failed"),
    step("each", "done"),
    step("each", "done"),
    step("end", "skipped"),
  ])
    onStep?.(one);
  expect(told).toEqual([
    { progressToken: "p", progress: 1, total: 4, message: "GO" },
    { progressToken: "p", progress: 2, total: 4, message: "EACH" },
    { progressToken: "p", progress: 3, total: 4, message: "END" },
  ]);
});

it("knows no total once something goes round in a loop", async () => {
  const { onStep, told } = await setup();
  for (const at of [0, 1, 2]) onStep?.(step("body", "done", `each:${at}`));
  expect(told).toMatchObject([{ progress: 1 }, { progress: 2 }, { progress: 3 }]);
  for (const one of told) expect(one).not.toHaveProperty("total");
});

it("tells nobody who does not read, and nobody who did not ask", async () => {
  const { onStep, told, reader } = await setup();
  reader.full = true;
  onStep?.(step("go", "done"));
  expect(told).toEqual([]);
  reader.full = false;
  onStep?.(step("each", "done"));
  expect(told).toMatchObject([{ progress: 2 }]);
  expect((await setup({})).onStep).toBeUndefined();
});
