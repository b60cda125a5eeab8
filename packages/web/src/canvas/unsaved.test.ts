import { expect, test } from "vitest";
import { sampleGraph } from "./test-graph.ts";
import { deleteUnsaved, readUnsaved, restoreUnsaved, storeUnsaved } from "./unsaved.ts";

function createStorage() {
  const values = new Map<string, string>();
  return {
    getItem: (key: string) => values.get(key) ?? null,
    setItem: (key: string, value: string) => void values.set(key, value),
    removeItem: (key: string) => void values.delete(key),
  };
}

const base = sampleGraph();
const mine = { ...base, name: "Mine" };

test("stores edits by flow, and deletes them", () => {
  const storage = createStorage();
  storeUnsaved(storage, "a", { base, graph: mine }, 7);
  expect(readUnsaved(storage, "a")).toEqual({ base, graph: mine, at: 7 });
  expect(readUnsaved(storage, "b")).toBeUndefined();
  deleteUnsaved(storage, "a");
  expect(readUnsaved(storage, "a")).toBeUndefined();
});

test("does not store an empty graph, and does not read a value that is not a graph", () => {
  const storage = createStorage();
  storeUnsaved(storage, "a", { base, graph: { ...base, nodes: [], edges: [] } }, 7);
  expect(readUnsaved(storage, "a")).toBeUndefined();
  for (const text of ["{", "{}", '{"base":1,"graph":2,"at":3}']) {
    storage.setItem("signalbox.unsaved.a", text);
    expect(readUnsaved(storage, "a")).toBeUndefined();
  }
});

test("does not fail in a browser without storage, or with a full storage", () => {
  const full = {
    ...createStorage(),
    setItem: () => {
      throw new Error("QuotaExceededError");
    },
  };
  for (const storage of [undefined, full]) {
    storeUnsaved(storage, "a", { base, graph: mine }, 7);
    expect(readUnsaved(storage, "a")).toBeUndefined();
    deleteUnsaved(storage, "a");
  }
});

test("merges stored edits into a flow that was saved meanwhile", () => {
  const loaded = { ...base, description: "Theirs" };
  const stored = { base, graph: mine, at: 7 };
  expect(restoreUnsaved(loaded, stored)).toMatchObject({ name: "Mine", description: "Theirs" });
  expect(restoreUnsaved({ ...mine }, stored)).toBeUndefined();
});
