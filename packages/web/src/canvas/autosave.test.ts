import { describe, expect, test, vi } from "vitest";
import { type AutosaveOptions, createAutosave, type Saved } from "./autosave.ts";
import type { Graph } from "./graph.ts";
import { sampleGraph } from "./test-graph.ts";

function setUp(save: AutosaveOptions["save"]) {
  const tasks = new Set<() => void>();
  const loaded: Saved = { graph: sampleGraph(), revision: 3 };
  const onSaved = vi.fn();
  const autosave = createAutosave({
    loaded,
    save,
    schedule: (task) => {
      tasks.add(task);
      return () => void tasks.delete(task);
    },
    onSaved,
    onState: () => {},
    judge: (error) => error as "conflict" | "rejected" | "failed",
  });
  /** Lets the time pass until nothing is planned or under way. */
  const settle = async () => {
    for (const task of tasks) {
      tasks.delete(task);
      task();
    }
    await new Promise((resolve) => setImmediate(resolve));
  };
  const named = (name: string): Graph => ({ ...loaded.graph, name });
  return { autosave, loaded, onSaved, settle, named, planned: () => tasks.size };
}

const accept = () =>
  vi.fn<AutosaveOptions["save"]>(async (graph, revision) => ({ graph, revision: revision + 1 }));

test("nothing is saved before an edit", async () => {
  const save = accept();
  const { autosave, settle, planned } = setUp(save);
  await autosave.flush();
  await settle();
  expect(planned()).toBe(0);
  expect(save).not.toHaveBeenCalled();
});

test("several edits are one request, with the revision that was read", async () => {
  const save = accept();
  const { autosave, settle, named } = setUp(save);
  autosave.edited(named("a"));
  autosave.edited(named("b"));
  await settle();
  expect(save.mock.calls).toEqual([[expect.objectContaining({ name: "b" }), 3]]);
  expect(autosave.state()).toEqual({ is: "saved" });
  expect(autosave.revision()).toBe(4);
});

test("an edit during a request is saved after it, on top of its revision", async () => {
  let answer = (_: Saved) => {};
  const save = vi
    .fn<AutosaveOptions["save"]>()
    .mockImplementationOnce(() => new Promise((resolve) => (answer = resolve)))
    .mockImplementation(async (graph, revision) => ({ graph, revision: revision + 1 }));
  const { autosave, settle, named } = setUp(save);
  autosave.edited(named("a"));
  await settle();
  autosave.edited(named("b"));
  await settle();
  expect(save).toHaveBeenCalledTimes(1);
  answer({ graph: named("a"), revision: 4 });
  await settle();
  await settle();
  expect(save.mock.calls[1]).toEqual([expect.objectContaining({ name: "b" }), 4]);
  expect(autosave.isDirty()).toBe(false);
});

test("what the hub has assigned is not an edit", async () => {
  const save = accept();
  const { autosave, settle, named } = setUp(save);
  autosave.edited(named("a"));
  await settle();
  autosave.absorbed(named("as the hub has it"));
  expect(autosave.isDirty()).toBe(false);
});

describe("an empty graph over a full one", () => {
  const empty = (graph: Graph): Graph => ({ ...graph, nodes: [], edges: [] });
  test("is not saved unless it is confirmed", async () => {
    const save = accept();
    const { autosave, loaded, settle } = setUp(save);
    autosave.edited(empty(loaded.graph));
    await settle();
    await autosave.flush();
    expect(autosave.state()).toEqual({ is: "emptied" });
    expect(save).not.toHaveBeenCalled();
    await autosave.confirmEmpty();
    expect(save).toHaveBeenCalledTimes(1);
  });
  test("is not saved if it is undone", async () => {
    const save = accept();
    const { autosave, loaded, settle } = setUp(save);
    autosave.edited(empty(loaded.graph));
    await settle();
    autosave.edited(loaded.graph);
    expect(autosave.state()).toEqual({ is: "saved" });
    expect(save).not.toHaveBeenCalled();
  });
});

describe("a conflict", () => {
  const conflict = async () => {
    const save = vi
      .fn<AutosaveOptions["save"]>()
      .mockRejectedValueOnce("conflict")
      .mockImplementation(async (graph, revision) => ({ graph, revision: revision + 1 }));
    const all = setUp(save);
    all.autosave.edited(all.named("mine"));
    await all.settle();
    return { ...all, save };
  };
  test("stops saving until it is decided", async () => {
    const { autosave, save, settle, named } = await conflict();
    expect(autosave.state()).toEqual({ is: "conflict" });
    autosave.edited(named("mine, later"));
    await settle();
    await autosave.flush();
    expect(save).toHaveBeenCalledTimes(1);
  });
  test("with mine: it is saved over the revision that the hub has now", async () => {
    const { autosave, save, settle, named } = await conflict();
    autosave.resolve({ graph: named("theirs"), revision: 9 }, named("mine"));
    await settle();
    expect(save.mock.lastCall).toEqual([expect.objectContaining({ name: "mine" }), 9]);
  });
  test("with theirs: nothing is saved", async () => {
    const { autosave, save, settle, named } = await conflict();
    const theirs = named("theirs");
    autosave.resolve({ graph: theirs, revision: 9 }, theirs);
    autosave.edited(theirs);
    await settle();
    expect(autosave.state()).toEqual({ is: "saved" });
    expect(save).toHaveBeenCalledTimes(1);
  });
});

test("an outage is tried again by itself, and nothing is lost", async () => {
  const save = vi
    .fn<AutosaveOptions["save"]>()
    .mockRejectedValueOnce("failed")
    .mockImplementation(async (graph, revision) => ({ graph, revision: revision + 1 }));
  const { autosave, settle, named } = setUp(save);
  autosave.edited(named("a"));
  await settle();
  expect(autosave.state().is).toBe("failed");
  await settle();
  expect(autosave.state()).toEqual({ is: "saved" });
  expect(save).toHaveBeenCalledTimes(2);
});

test("a rejected graph waits for the next edit", async () => {
  const save = vi.fn<AutosaveOptions["save"]>().mockRejectedValue("rejected");
  const { autosave, settle, named, planned } = setUp(save);
  autosave.edited(named("a"));
  await settle();
  expect(autosave.state().is).toBe("rejected");
  expect(planned()).toBe(0);
  expect(autosave.isDirty()).toBe(true);
});
