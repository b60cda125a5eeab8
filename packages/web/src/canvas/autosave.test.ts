import { describe, expect, test, vi } from "vitest";
import { type AutosaveOptions, createAutosave, type SavedGraph } from "./autosave.ts";
import type { Graph } from "./graph.ts";
import { sampleGraph } from "./test-graph.ts";

function setUp(save: AutosaveOptions["save"]) {
  const tasks = new Set<() => void>();
  const loaded: SavedGraph = { graph: sampleGraph(), revision: 3 };
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
    classifyError: (error) => error as "conflict" | "rejected" | "failed",
  });
  /** Runs the scheduled tasks, and waits for their requests. */
  const runScheduled = async () => {
    for (const task of tasks) {
      tasks.delete(task);
      task();
    }
    await new Promise((resolve) => setImmediate(resolve));
  };
  const withName = (name: string): Graph => ({ ...loaded.graph, name });
  return { autosave, loaded, onSaved, runScheduled, withName, scheduledCount: () => tasks.size };
}

const accept = () =>
  vi.fn<AutosaveOptions["save"]>(async (graph, revision) => ({ graph, revision: revision + 1 }));

test("does not save before an edit", async () => {
  const save = accept();
  const { autosave, runScheduled, scheduledCount } = setUp(save);
  await autosave.flush();
  await runScheduled();
  expect(scheduledCount()).toBe(0);
  expect(save).not.toHaveBeenCalled();
});

test("saves several edits with one request, and sends the revision of the loaded flow", async () => {
  const save = accept();
  const { autosave, runScheduled, withName } = setUp(save);
  autosave.handleEdit(withName("a"));
  autosave.handleEdit(withName("b"));
  await runScheduled();
  expect(save.mock.calls).toEqual([[expect.objectContaining({ name: "b" }), 3]]);
  expect(autosave.state()).toEqual({ is: "saved" });
  expect(autosave.revision()).toBe(4);
});

test("saves an edit during a request after the response, and sends the new revision", async () => {
  let respond = (_: SavedGraph) => {};
  const save = vi
    .fn<AutosaveOptions["save"]>()
    .mockImplementationOnce(() => new Promise((resolve) => (respond = resolve)))
    .mockImplementation(async (graph, revision) => ({ graph, revision: revision + 1 }));
  const { autosave, runScheduled, withName } = setUp(save);
  autosave.handleEdit(withName("a"));
  await runScheduled();
  autosave.handleEdit(withName("b"));
  await runScheduled();
  expect(save).toHaveBeenCalledTimes(1);
  respond({ graph: withName("a"), revision: 4 });
  await runScheduled();
  await runScheduled();
  expect(save.mock.calls[1]).toEqual([expect.objectContaining({ name: "b" }), 4]);
  expect(autosave.isDirty()).toBe(false);
});

test("does not treat values that the hub has assigned as an edit", async () => {
  const save = accept();
  const { autosave, runScheduled, withName } = setUp(save);
  autosave.handleEdit(withName("a"));
  await runScheduled();
  autosave.absorb(withName("as the hub has it"));
  expect(autosave.isDirty()).toBe(false);
});

describe("an empty graph after a graph with nodes", () => {
  const empty = (graph: Graph): Graph => ({ ...graph, nodes: [], edges: [] });
  test("is saved only after a confirmation", async () => {
    const save = accept();
    const { autosave, loaded, runScheduled } = setUp(save);
    autosave.handleEdit(empty(loaded.graph));
    await runScheduled();
    await autosave.flush();
    expect(autosave.state()).toEqual({ is: "emptied" });
    expect(save).not.toHaveBeenCalled();
    await autosave.confirmEmpty();
    expect(save).toHaveBeenCalledTimes(1);
  });
  test("is not saved after an undo", async () => {
    const save = accept();
    const { autosave, loaded, runScheduled } = setUp(save);
    autosave.handleEdit(empty(loaded.graph));
    await runScheduled();
    autosave.handleEdit(loaded.graph);
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
    const context = setUp(save);
    context.autosave.handleEdit(context.withName("mine"));
    await context.runScheduled();
    return { ...context, save };
  };
  test("stops saving until it is resolved", async () => {
    const { autosave, save, runScheduled, withName } = await conflict();
    expect(autosave.state()).toEqual({ is: "conflict" });
    autosave.handleEdit(withName("mine, later"));
    await runScheduled();
    await autosave.flush();
    expect(save).toHaveBeenCalledTimes(1);
  });
  test("saves my graph, with the current revision of the hub, if it was chosen", async () => {
    const { autosave, save, runScheduled, withName } = await conflict();
    autosave.resolve({ graph: withName("theirs"), revision: 9 }, withName("mine"));
    await runScheduled();
    expect(save.mock.lastCall).toEqual([expect.objectContaining({ name: "mine" }), 9]);
  });
  test("saves nothing if the graph of the hub was chosen", async () => {
    const { autosave, save, runScheduled, withName } = await conflict();
    const theirs = withName("theirs");
    autosave.resolve({ graph: theirs, revision: 9 }, theirs);
    autosave.handleEdit(theirs);
    await runScheduled();
    expect(autosave.state()).toEqual({ is: "saved" });
    expect(save).toHaveBeenCalledTimes(1);
  });
});

test("saves again after an outage", async () => {
  const save = vi
    .fn<AutosaveOptions["save"]>()
    .mockRejectedValueOnce("failed")
    .mockImplementation(async (graph, revision) => ({ graph, revision: revision + 1 }));
  const { autosave, runScheduled, withName } = setUp(save);
  autosave.handleEdit(withName("a"));
  await runScheduled();
  expect(autosave.state().is).toBe("failed");
  await runScheduled();
  expect(autosave.state()).toEqual({ is: "saved" });
  expect(save).toHaveBeenCalledTimes(2);
});

test("does not save a rejected graph again before the next edit", async () => {
  const save = vi.fn<AutosaveOptions["save"]>().mockRejectedValue("rejected");
  const { autosave, runScheduled, withName, scheduledCount } = setUp(save);
  autosave.handleEdit(withName("a"));
  await runScheduled();
  expect(autosave.state().is).toBe("rejected");
  expect(scheduledCount()).toBe(0);
  expect(autosave.isDirty()).toBe(true);
});
