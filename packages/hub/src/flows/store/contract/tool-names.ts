import { expect } from "vitest";
import { DAY, itemAt, START } from "../../../events/store/contract/sample.ts";
import type { It } from "../../../kernel/store/contract/subject.ts";
import type { Store } from "../../../store.ts";
import {
  edit,
  intents,
  makeFlow,
  publish,
  sampleApp,
  savedFlow,
  setDraft,
  toolNamesOf,
  triggersOf,
} from "./flow-sample.ts";

/** Returns the current name of the tool, and whether `name` is an alias of it. */
const find = async (store: Store, name: string, now = START) => {
  const tool = await store.findTool("acme", "desk", name, now);
  return tool && [tool.trigger.tool_name, tool.alias];
};

/** Returns the tool name that a new flow gets for an intent with this name. The flow is then deleted. */
async function assignedName(store: Store, name: string): Promise<string> {
  const flow = await makeFlow(store, intents(name));
  await store.deleteFlow({ tenant: "acme", id: flow.id }, START);
  return itemAt(toolNamesOf(flow.graph), 0);
}

const node = (id: string, name: string) => ({ ...itemAt(intents(name).nodes, 0), id });

/** Requests the same tool name in many concurrent edits, and checks that all get different names. */
export async function raceForNames(stores: readonly [Store, ...Store[]]): Promise<void> {
  const [store] = stores;
  await store.createApp(sampleApp());
  const flows = await Promise.all(
    Array.from({ length: 25 }, (_, index) => makeFlow(store, intents(), { id: `edited ${index}` })),
  );
  const edited = await Promise.all([
    ...flows.map(({ id }, index) =>
      itemAt(stores, index % stores.length).editFlow(
        { tenant: "acme", id },
        START,
        setDraft("A flow", intents("Same")),
      ),
    ),
    ...flows.map((_, index) =>
      itemAt(stores, index % stores.length).createFlow(
        { id: `new ${index}`, tenant: "acme", app: "desk", at: START },
        setDraft("A flow", intents("Same")),
      ),
    ),
  ]);
  const names = edited.flatMap((result) => toolNamesOf(savedFlow(result).graph));
  const suffixes = Array.from({ length: 49 }, (_, index) => `same_${index + 2}`);
  expect(names.sort()).toEqual(["same", ...suffixes].sort());
}

export function toolNamesContract(it: It): void {
  it("are all different if fifty flows request the same name concurrently", ({ store }) =>
    raceForNames([store]));

  it("are rejected if another flow has them, or if a flow has them twice", async ({ store }) => {
    await makeFlow(store, intents("Go"));
    const flow = await makeFlow(store, intents("Stop"));
    const editWith = (...names: string[]) =>
      store.editFlow({ tenant: "acme", id: flow.id }, START, () => ({
        name: "A flow",
        description: "",
        graph: intents(...names),
        toolNames: names.map((name) => ({ name })),
      }));
    const error = await editWith("go").catch((error: unknown) => error);
    expect(store.isDataError(error)).toBe(true);
    await expect(editWith("twice", "twice")).rejects.toThrow();
    expect(await store.getFlow("acme", flow.id)).toEqual(flow);
    expect(await assignedName(store, "Stop")).toBe("stop_2");
  });

  it("are unique only within one app of one tenant", async ({ store }) => {
    await publish(store, await makeFlow(store, intents("Go")));
    for (const owner of [{ app: "shop" }, { tenant: "umbrella" }]) {
      const flow = await publish(store, await makeFlow(store, intents("Go"), owner));
      expect(toolNamesOf(flow.graph)).toEqual(["go"]);
      expect(await store.findTool(flow.tenant, flow.app, "go", START)).toMatchObject({
        trigger: { flow_id: flow.id },
      });
    }
  });

  it("become free when their node is removed: immediately if only the draft had it, otherwise when the next version is published", async ({
    store,
  }) => {
    const flow = await makeFlow(store, intents("Go", "Stop"));
    await edit(store, flow, intents("Go"));
    expect(await assignedName(store, "Stop")).toBe("stop");

    await publish(store, flow);
    await edit(store, flow, intents());
    expect(await assignedName(store, "Go")).toBe("go_2");
    expect(await find(store, "go")).toEqual(["go", false]);
    await publish(store, flow);
    expect(await find(store, "go")).toBeUndefined();
    expect(await assignedName(store, "Go")).toBe("go");
  });

  it("remain callable as aliases for a limited time after a rename", async ({ store }) => {
    const graph = (name: string) => ({ nodes: [node("a", name)], edges: [] });
    const flow = await makeFlow(store, graph("First"));
    await publish(store, flow);
    await edit(store, flow, graph("Second"));
    // Before the publication only the draft has the new name, but both names are in use.
    expect(await find(store, "first")).toEqual(["first", false]);
    expect(await find(store, "second")).toBeUndefined();
    expect(await assignedName(store, "First")).toBe("first_2");
    expect(await assignedName(store, "Second")).toBe("second_2");

    await publish(store, flow, { aliasUntil: START + DAY });
    expect(await find(store, "first")).toEqual(["second", true]);
    expect(await find(store, "second")).toEqual(["second", false]);
    await edit(store, flow, graph("Third"));
    await publish(store, flow, { aliasUntil: START + 2 * DAY });
    expect(await find(store, "first")).toEqual(["third", true]);
    expect(await find(store, "second")).toEqual(["third", true]);
    // Another edit or publication does not end the alias.
    await edit(store, flow, graph("Third"));
    await publish(store, flow, { aliasUntil: START + 9 * DAY });
    expect(await find(store, "first", START + DAY - 1)).toEqual(["third", true]);
    expect(await find(store, "first", START + DAY)).toBeUndefined();
    expect(await find(store, "second", START + DAY)).toEqual(["third", true]);

    // Another flow can use the name of an expired alias.
    const at = START + DAY;
    const other = await makeFlow(store, intents());
    const edited = await edit(store, other, intents("First", "Second"), at);
    expect(toolNamesOf(edited.graph)).toEqual(["first", "second_2"]);
  });

  it("are passed to an edit, with their node ids, while they are callable", async ({ store }) => {
    const callableNames = async (id: string, at = START) => {
      let names: ReadonlyMap<string, string> = new Map();
      await store.editFlow({ tenant: "acme", id }, at, (current) => {
        names = current.callable;
        return { name: "", description: "", toolNames: [], ...current.flow, graph: intents() };
      });
      return Object.fromEntries(names);
    };
    const flow = await makeFlow(store, { nodes: [node("a", "X"), node("b", "Z")], edges: [] });
    const other = await makeFlow(store, intents("Other"));
    expect(await callableNames(flow.id)).toEqual({});
    await publish(store, flow, { graph: flow.graph, triggers: triggersOf(flow.graph) });
    expect(await callableNames(flow.id)).toEqual({ x: "a", z: "b" });
    await edit(store, flow, { nodes: [node("a", "Y"), node("b", "Z")], edges: [] });
    await publish(store, flow, { aliasUntil: START + DAY });
    expect(await callableNames(flow.id, START + DAY - 1)).toEqual({ x: "a", y: "a", z: "b" });
    expect(await callableNames(flow.id, START + DAY)).toEqual({ y: "a", z: "b" });
    expect(await callableNames(other.id)).toEqual({});
  });

  it("can move from one node of a flow to another", async ({ store }) => {
    const flow = await makeFlow(store, { nodes: [node("a", "X")], edges: [] });
    await publish(store, flow);
    await edit(store, flow, { nodes: [node("a", "Y")], edges: [] });
    await publish(store, flow);
    // The alias belongs to the first node until the second one is published with this name.
    await edit(store, flow, { nodes: [node("a", "Y"), node("b", "X")], edges: [] });
    expect(await store.findTool("acme", "desk", "x", START)).toMatchObject({
      trigger: { node_id: "a" },
      alias: true,
    });
    await publish(store, flow);
    expect(await store.findTool("acme", "desk", "x", START)).toMatchObject({
      trigger: { node_id: "b" },
      alias: false,
    });
    // The draft no longer has the name, but the published version has it.
    await edit(store, flow, { nodes: [node("a", "Y")], edges: [] });
    expect(await assignedName(store, "X")).toBe("x_2");
    expect(await find(store, "x")).toEqual(["x", false]);
  });
}
