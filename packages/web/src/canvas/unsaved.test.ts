import { expect, test } from "vitest";
import { sampleGraph } from "./test-graph.ts";
import { forgetUnsaved, keepUnsaved, readUnsaved, restoreUnsaved } from "./unsaved.ts";

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

test("edits are kept by flow, and forgotten once they are saved", () => {
  const storage = createStorage();
  keepUnsaved(storage, "a", { base, graph: mine }, 7);
  expect(readUnsaved(storage, "a")).toEqual({ base, graph: mine, at: 7 });
  expect(readUnsaved(storage, "b")).toBeUndefined();
  forgetUnsaved(storage, "a");
  expect(readUnsaved(storage, "a")).toBeUndefined();
});

test("an empty graph is not kept, and what is no graph is not read", () => {
  const storage = createStorage();
  keepUnsaved(storage, "a", { base, graph: { ...base, nodes: [], edges: [] } }, 7);
  expect(readUnsaved(storage, "a")).toBeUndefined();
  for (const text of ["{", "{}", '{"base":1,"graph":2,"at":3}']) {
    storage.setItem("signalbox.unsaved.a", text);
    expect(readUnsaved(storage, "a")).toBeUndefined();
  }
});

test("a browser without storage, or with a full one, does no harm", () => {
  const full = {
    ...createStorage(),
    setItem: () => {
      throw new Error("QuotaExceededError");
    },
  };
  for (const storage of [undefined, full]) {
    keepUnsaved(storage, "a", { base, graph: mine }, 7);
    expect(readUnsaved(storage, "a")).toBeUndefined();
    forgetUnsaved(storage, "a");
  }
});

test("kept edits go on top of what was saved meanwhile", () => {
  const loaded = { ...base, description: "Theirs" };
  const kept = { base, graph: mine, at: 7 };
  expect(restoreUnsaved(loaded, kept)).toMatchObject({ name: "Mine", description: "Theirs" });
  expect(restoreUnsaved({ ...mine }, kept)).toBeUndefined();
});
