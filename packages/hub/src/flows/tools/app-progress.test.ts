import { expect, it } from "vitest";
import type { StoredApp } from "../model.ts";
import type { Step } from "../runs/model.ts";
import { createProgressReporter } from "./app-progress.ts";

const node = (id: string) => ({ id, name: id.toUpperCase() });
const edge = (source: string, target: string) => ({ source, sourceHandle: "out", target });
const step = (node_id: string, status: Step["status"], item = "") =>
  ({ node_id, status, item }) as Step;

async function setup(meta: { progressToken?: string } = { progressToken: "p" }) {
  const sent: unknown[] = [];
  const connection = { full: false };
  const report = await createProgressReporter({
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
      _meta: meta,
      async notify({ params }: { params?: unknown }) {
        sent.push(params);
        throw new Error("The client has disconnected.");
      },
    } as never,
    backPressure: { isFull: () => connection.full, addUnread() {} },
    now: 0,
  });
  return { report, sent, connection };
}

it("counts each finished node once, with the number of nodes that the trigger reaches as the total", async () => {
  const { report, sent } = await setup();
  for (const reported of [
    step("go", "running"),
    step("go", "done"),
    step("each", "failed"),
    step("each", "done"),
    step("each", "done"),
    step("end", "skipped"),
  ])
    report?.step(reported);
  expect(sent).toEqual([
    { progressToken: "p", progress: 1, total: 4, message: "GO" },
    { progressToken: "p", progress: 2, total: 4, message: "EACH" },
    { progressToken: "p", progress: 3, total: 4, message: "END" },
  ]);
});

it("sends no total after an iteration of a loop", async () => {
  const { report, sent } = await setup();
  for (const at of [0, 1, 2]) report?.step(step("body", "done", `each:${at}`));
  expect(sent).toMatchObject([{ progress: 1 }, { progress: 2 }, { progress: 3 }]);
  for (const params of sent) expect(params).not.toHaveProperty("total");
});

it("sends nothing to a client that does not read or has sent no progress token", async () => {
  const { report, sent, connection } = await setup();
  connection.full = true;
  report?.step(step("go", "done"));
  expect(sent).toEqual([]);
  connection.full = false;
  report?.step(step("each", "done"));
  expect(sent).toMatchObject([{ progress: 2 }]);
  expect((await setup({})).report).toBeUndefined();
});

it("reports the parts of a node, without a total", async () => {
  const { report, sent } = await setup();
  report?.step(step("go", "done"));
  report?.step(step("end", "done", "#turn-1"));
  expect(sent).toEqual([
    { progressToken: "p", progress: 1, total: 4, message: "GO" },
    { progressToken: "p", progress: 2, message: "END: turn-1" },
  ]);
});

it("reports the progress of called tools as a fraction that always increases", async () => {
  const { report, sent } = await setup();
  report?.step(step("go", "done"));
  report?.tool({ node_id: "end", progress: 1, total: 4, message: "reading" });
  report?.tool({ node_id: "end", progress: 2, total: 4 });
  report?.tool({ node_id: "each", progress: 1, total: 4, message: "another" });
  for (let at = 0; at < 1_000; at += 1) report?.tool({ node_id: "each", progress: at });
  report?.tool({ node_id: "end", progress: 4, total: 4 });
  report?.step(step("end", "done"));
  expect(sent.slice(0, 3)).toEqual([
    { progressToken: "p", progress: 1, total: 4, message: "GO" },
    { progressToken: "p", progress: 1.25, total: 4, message: "END: 1 of 4: reading" },
    { progressToken: "p", progress: 1.5, total: 4, message: "END: 2 of 4" },
  ]);
  expect(sent.at(-1)).toMatchObject({ progress: 2, message: "END" });
  const values = sent.map((params) => (params as { progress: number }).progress);
  expect(values).toEqual([...new Set(values)].sort((a, b) => a - b));
});
