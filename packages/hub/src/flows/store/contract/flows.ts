import { expect } from "vitest";
import { ids, itemAt, SECOND, START } from "../../../events/store/contract/sample.ts";
import type { It } from "../../../kernel/store/contract/subject.ts";
import type { FlowKey } from "../../model.ts";
import { claim, sampleRun, save } from "../../runs/store/contract/run-sample.ts";
import {
  edit,
  intents,
  makeFlow,
  publication,
  publish,
  sampleApp,
  setDraft,
  toolNamesOf,
} from "./flow-sample.ts";

const LATER = START + 5 * SECOND;

export function flowsContract(it: It): void {
  it("keeps the graphs of recent runs of drafts, apart from published versions", async ({
    store,
  }) => {
    const flow = await makeFlow(store);
    await publish(store, flow);
    const saveDraft = (graph = intents("Draft"), key = flow) =>
      store.saveDraftVersion(key, { graph, by: "ada", at: START });
    expect(await saveDraft()).toBe(-1);
    expect(await saveDraft()).toBe(-1);
    expect(await saveDraft(intents("Other"))).toBe(-2);
    expect(await store.getVersion("acme", flow.id, -1)).toEqual(intents("Draft"));
    expect(await store.getVersion("umbrella", flow.id, -1)).toBeUndefined();
    expect(await saveDraft(intents("X"), { ...flow, tenant: "umbrella" })).toBeUndefined();
    expect(await saveDraft(intents("X"), { ...flow, id: "none" })).toBeUndefined();
    for (let number = 3; number <= 21; number += 1) await saveDraft(intents(`Draft ${number}`));
    expect(await store.getVersion("acme", flow.id, -21)).toBeDefined();
    expect(await store.getVersion("acme", flow.id, -2)).toBeDefined();
    expect(await store.getVersion("acme", flow.id, -1)).toBeUndefined();
    expect((await store.listVersions("acme", flow.id)).map(({ version }) => version)).toEqual([1]);
    expect((await publish(store, flow)).version).toBe(2);
    // The graph of a run that waits is kept.
    await store.queueRuns([sampleRun({ flow_id: flow.id, version: -3 })]);
    for (let number = 22; number <= 25; number += 1) await saveDraft(intents(`Draft ${number}`));
    const graphs = await Promise.all(
      [-2, -3, -4].map((version) => store.getVersion("acme", flow.id, version)),
    );
    expect(graphs.map((graph) => graph !== undefined)).toEqual([false, true, false]);
  });

  it("reports when the triggers of a flow last fired", async ({ store }) => {
    const flow = await makeFlow(store, intents("Go", "Stop"));
    expect(await store.listTriggerStates("acme", flow.id)).toEqual([]);
    await publish(store, flow);
    const runs = [0, 5].map((at) =>
      sampleRun({ flow_id: flow.id, trigger_node: "node Go", at: START + at }),
    );
    await store.queueRuns(runs);
    const draft = { version: -1, at: START + 9, trigger_node: "node Go" };
    await store.queueRuns([sampleRun({ flow_id: flow.id, ...draft })]);
    const trigger = { kind: "intent", source: null, type: null, active: true };
    const none = { state: null, error: null, next_at: null };
    expect(await store.listTriggerStates("acme", flow.id)).toEqual([
      { node_id: "node Go", tool_name: "go", ...trigger, ...none, last_fired_at: START + 5 },
      { node_id: "node Stop", tool_name: "stop", ...trigger, ...none, last_fired_at: null },
    ]);
    expect(await store.listTriggerStates("umbrella", flow.id)).toEqual([]);
  });

  it("reports whether the draft differs from the published version", async ({ store }) => {
    const flow = await makeFlow(store);
    const state = async () => (await store.listDraftStates("acme", [flow.id, "x"])).get(flow.id);
    expect(await state()).toBe("unpublished");
    await publish(store, flow);
    expect(await state()).toBe("published");
    await edit(store, flow, intents("Go", "Stop"));
    expect(await state()).toBe("changed");
    await publish(store, flow);
    expect(await state()).toBe("published");
    expect((await store.listDraftStates("umbrella", [flow.id])).size).toBe(0);
    expect(await store.findToolOwner("acme", "desk", "stop", START)).toBe(flow.id);
    expect(await store.findToolOwner("acme", "desk", "other", START)).toBeUndefined();
    expect(await store.findToolOwner("umbrella", "desk", "stop", START)).toBeUndefined();
  });

  it("stores apps, whose slugs are unique within their tenant", async ({ store, reopen }) => {
    const app = sampleApp();
    expect(await store.createApp(app)).toBe(true);
    expect(await store.createApp({ ...app, name: "Another" })).toBe(false);
    expect(await store.createApp(sampleApp({ tenant: "umbrella", name: "Theirs" }))).toBe(true);
    expect(await (await reopen()).getApp("acme", "desk")).toEqual(app);
    expect(await store.getApp("umbrella", "desk")).toMatchObject({ name: "Theirs" });
    expect(await store.getApp("acme", "none")).toBeUndefined();

    const changed = { ...app, name: "Front desk", updated_at: LATER };
    expect(await store.updateApp("acme", "desk", { name: "Front desk" }, LATER)).toEqual(changed);
    expect(await store.updateApp("acme", "desk", { description: "" }, LATER)).toEqual(changed);
    expect(await store.updateApp("acme", "none", { name: "x" }, LATER)).toBeUndefined();
    expect(await store.getApp("umbrella", "desk")).toMatchObject({ name: "Theirs" });
  });

  it("lists the apps of a tenant in pages", async ({ store }) => {
    for (const slug of ["b", "a", "c"]) await store.createApp(sampleApp({ slug }));
    await store.createApp(sampleApp({ tenant: "umbrella", slug: "aa" }));
    const slugs = async (after: string, limit: number) =>
      (await store.listApps("acme", after, limit)).map(({ slug }) => slug);
    expect(await slugs("", 2)).toEqual(["a", "b"]);
    expect(await slugs("b", 2)).toEqual(["c"]);
    expect(await slugs("c", 2)).toEqual([]);
  });

  it("creates a draft, and passes the stored flow to an edit", async ({ store, reopen }) => {
    const flow = await makeFlow(store, intents("Get weather"));
    expect(flow).toMatchObject({ tenant: "acme", app: "desk", revision: 1, version: null });
    expect(await (await reopen()).getFlow("acme", flow.id)).toEqual(flow);

    const graph = intents("Get weather", "Set weather");
    const edited = await store.editFlow({ tenant: "acme", id: flow.id }, LATER, (current) => {
      expect(current.flow).toEqual(flow);
      expect(current.takenNames).toEqual(new Set());
      return setDraft("Weather", graph)(current);
    });
    const after = { ...flow, name: "Weather", graph, revision: 2, updated_at: LATER };
    expect(edited).toEqual({ outcome: "saved", flow: after });
    expect(await store.getFlow("acme", flow.id)).toEqual(after);
  });

  it("rejects an edit of an unknown app or flow, or of an outdated revision", async ({ store }) => {
    const flow = await makeFlow(store);
    const notCalled = () => {
      throw new Error("called");
    };
    const withoutApp = { id: "f", tenant: "acme", app: "none", at: START };
    expect(await store.createFlow(withoutApp, notCalled)).toEqual({ outcome: "no_app" });
    const key = { tenant: "acme", id: flow.id };
    const { id } = flow;
    expect(await store.editFlow({ tenant: "acme", id: "none" }, START, notCalled)).toEqual({
      outcome: "no_flow",
    });
    expect(await store.editFlow({ tenant: "umbrella", id }, START, notCalled)).toEqual({
      outcome: "no_flow",
    });
    expect(await store.publishFlow({ tenant: "umbrella", id }, notCalled)).toEqual({
      outcome: "no_flow",
    });
    const first = await store.editFlow(
      { ...key, ifRevision: 1 },
      START,
      setDraft("First", intents("Go")),
    );
    expect(first).toMatchObject({ outcome: "saved", flow: { revision: 2 } });
    const stale = { ...key, ifRevision: 1 };
    expect(await store.editFlow(stale, START, notCalled)).toEqual({
      outcome: "changed",
      revision: 2,
    });
    expect(await store.publishFlow(stale, notCalled)).toEqual({ outcome: "changed", revision: 2 });
    expect(await store.getFlow("acme", id)).toMatchObject({ name: "First", version: null });
  });

  it("rolls back the transaction if the edit throws", async ({ store }) => {
    const flow = await publish(store, await makeFlow(store, intents("Keep")));
    const { revision } = await store.findTriggers("acme", [], "");
    const key = { tenant: "acme", id: flow.id };
    const reject = () => {
      throw new Error("Empty description");
    };
    await expect(store.editFlow(key, LATER, reject)).rejects.toThrow("Empty description");
    await expect(store.publishFlow(key, reject)).rejects.toThrow("Empty description");
    await expect(
      store.createFlow({ id: "new", tenant: "acme", app: "desk", at: LATER }, reject),
    ).rejects.toThrow("Empty description");
    // The engine rejects the second trigger, after other writes.
    const duplicateTriggers = {
      ...publication()(flow),
      triggers: [...publication()(flow).triggers, ...publication()(flow).triggers],
    };
    await expect(store.publishFlow(key, () => duplicateTriggers)).rejects.toThrow();
    expect(await store.getFlow("acme", flow.id)).toEqual(flow);
    expect(await store.getFlow("acme", "new")).toBeUndefined();
    expect(await store.listVersions("acme", flow.id)).toHaveLength(1);
    expect(await store.findTool("acme", "desk", "keep", START)).toMatchObject({ alias: false });
    expect(await store.findTriggers("acme", [], "")).toEqual({ revision, triggers: [] });
  });

  it("loses no concurrent edit", async ({ store }) => {
    const flow = await makeFlow(store, intents());
    const key = { tenant: "acme", id: flow.id };
    await Promise.all(
      Array.from({ length: 20 }, (_, index) =>
        store.editFlow(key, START, (current) => {
          const nodes = [...(current.flow?.graph.nodes ?? []), ...intents(`Node ${index}`).nodes];
          return setDraft("A flow", { nodes, edges: [] })(current);
        }),
      ),
    );
    const after = await store.getFlow("acme", flow.id);
    expect(after?.revision).toBe(21);
    expect(new Set(after?.graph.nodes.map(({ id }) => id)).size).toBe(20);
    const results = await Promise.all(
      Array.from({ length: 10 }, () =>
        store.editFlow({ ...key, ifRevision: 21 }, START, setDraft("Mine", intents())),
      ),
    );
    expect(results.filter(({ outcome }) => outcome === "saved")).toHaveLength(1);
  });

  it("lists the flows of all apps or of one, in pages", async ({ store }) => {
    for (const id of ["b", "a", "d"]) await makeFlow(store, intents(), { id });
    await makeFlow(store, intents(), { id: "c", app: "shop" });
    await makeFlow(store, intents(), { id: "aa", tenant: "umbrella" });
    expect(ids((await store.listFlows("acme", { limit: 3 })).flows)).toEqual(["a", "b", "c"]);
    expect(ids((await store.listFlows("acme", { limit: 3, after: "c" })).flows)).toEqual(["d"]);
    expect(ids((await store.listFlows("acme", { limit: 9, app: "desk" })).flows)).toEqual([
      "a",
      "b",
      "d",
    ]);
    expect(
      ids((await store.listFlows("acme", { limit: 9, app: "desk", after: "a" })).flows),
    ).toEqual(["b", "d"]);
    expect(await store.getFlow("acme", "aa")).toBeUndefined();
  });

  it("ends a page of large flows early", async ({ store }) => {
    const large = intents("x".repeat(400_000));
    for (const id of ["a", "b", "c", "d", "e"]) await makeFlow(store, large, { id });
    const pages: string[][] = [];
    let after: string | undefined;
    for (let hasMore = true; hasMore; ) {
      const page = await store.listFlows("acme", { limit: 9, after });
      pages.push(ids(page.flows));
      after = page.flows.at(-1)?.id;
      hasMore = page.hasMore;
    }
    expect(pages).toEqual([["a", "b"], ["c", "d"], ["e"]]);
    expect(await store.listFlows("acme", { limit: 1, after: "d" })).toMatchObject({
      hasMore: false,
    });
    expect(await store.listFlows("acme", { limit: 1, after: "c" })).toMatchObject({
      hasMore: true,
    });
  });

  it("publishes immutable versions, of the draft or of a given graph", async ({ store }) => {
    const one = intents("One");
    const flow = await makeFlow(store, one);
    expect(await publish(store, flow, { note: "first" })).toMatchObject({
      version: 1,
      revision: 2,
    });
    const two = intents("Two");
    await edit(store, flow, two);
    expect(await store.getVersion("acme", flow.id, 1)).toEqual(one);
    expect(await publish(store, flow, { by: "bob", at: LATER })).toMatchObject({ version: 2 });
    expect(await publish(store, flow, { graph: one })).toMatchObject({ version: 3, graph: two });
    expect(await store.listVersions("acme", flow.id)).toEqual([
      { version: 3, note: "", created_by: "ada", created_at: START },
      { version: 2, note: "", created_by: "bob", created_at: LATER },
      { version: 1, note: "first", created_by: "ada", created_at: START },
    ]);
    expect(await store.getVersion("acme", flow.id, 1)).toEqual(one);
    expect(await store.getVersion("acme", flow.id, 2)).toEqual(two);
    expect(await store.getVersion("acme", flow.id, 3)).toEqual(one);
    expect(await store.findTool("acme", "desk", "one", START)).toMatchObject({
      trigger: { version: 3 },
    });
    expect(await store.getVersion("umbrella", flow.id, 1)).toBeUndefined();
    expect(await store.getVersion("acme", flow.id, 4)).toBeUndefined();
    expect(await store.listVersions("umbrella", flow.id)).toEqual([]);
  });

  it("rolls back the draft and the published version together, or neither", async ({ store }) => {
    const [first, second] = [intents("One"), intents("Two")];
    const flow = await makeFlow(store, first);
    const key = { tenant: "acme", id: flow.id };
    await publish(store, flow);
    await edit(store, flow, second);
    const before = await publish(store, flow);
    const rollBack = (flowKey: FlowKey, version = 1, prepare = publication()) =>
      store.rollBackFlow(flowKey, version, LATER, (graph) => setDraft("Back", graph), prepare);

    expect(await rollBack({ ...key, ifRevision: before.revision - 1 })).toEqual({
      outcome: "changed",
      revision: before.revision,
    });
    expect(await rollBack(key, 3)).toEqual({ outcome: "no_version" });
    expect(await rollBack({ ...key, tenant: "umbrella" })).toEqual({ outcome: "no_flow" });
    // If the publication fails, the edit of the draft is undone.
    const reject = () => {
      throw new Error("It cannot run.");
    };
    await expect(rollBack(key, 1, reject)).rejects.toThrow("It cannot run.");
    expect(await store.getFlow("acme", flow.id)).toEqual(before);
    expect(await store.findTool("acme", "desk", "two", START)).toMatchObject({ alias: false });
    expect(await store.listVersions("acme", flow.id)).toHaveLength(2);

    expect(await rollBack({ ...key, ifRevision: before.revision })).toMatchObject({
      outcome: "saved",
      flow: { name: "Back", graph: first, version: 3, updated_at: START },
    });
    expect(await store.getVersion("acme", flow.id, 3)).toEqual(first);
    expect(await store.findTool("acme", "desk", "one", START)).toMatchObject({ alias: false });
  });

  it("accepts only one of several concurrent changes to the same revision", async ({ store }) => {
    for (let round = 0; round < 5; round += 1) {
      const flow = await publish(store, await makeFlow(store, intents("Go")));
      const key = { tenant: "acme", id: flow.id, ifRevision: flow.revision };
      const results = await Promise.all([
        store.editFlow(key, START, setDraft("Edited", intents("Went"))),
        store.rollBackFlow(key, 1, START, (graph) => setDraft("Back", graph), publication()),
        store.deleteFlow(key, START),
      ]);
      const [accepted, ...more] = results.filter(({ outcome }) => /saved|deleted/.test(outcome));
      expect(more).toEqual([]);
      const after = await store.getFlow("acme", flow.id);
      expect(after).toEqual(accepted && "flow" in accepted ? accepted.flow : undefined);
      await store.deleteFlow({ tenant: "acme", id: flow.id }, START);
    }
  });

  it("deletes a flow only if it still has the given revision", async ({ store }) => {
    const flow = await publish(store, await makeFlow(store, intents("Go")));
    const key = { tenant: "acme", id: flow.id };
    const stale = { ...key, ifRevision: flow.revision - 1 };
    expect(await store.deleteFlow(stale, START)).toEqual({
      outcome: "changed",
      revision: flow.revision,
    });
    expect(await store.getFlow("acme", flow.id)).toEqual(flow);
    expect(await store.findTool("acme", "desk", "go", START)).toBeDefined();
    const current = { ...key, ifRevision: flow.revision };
    expect(await store.deleteFlow(current, START)).toEqual({ outcome: "deleted" });
  });

  it("removes flows without runs that were deleted before the given time", async ({ store }) => {
    const keyOf = ({ id }: { id: string }) => ({ tenant: "acme", id });
    const makePublished = async (app?: string) =>
      publish(store, await makeFlow(store, intents(), app === undefined ? {} : { app }));
    const activeFlow = await makePublished();
    const oldFlow = await makePublished();
    const recentFlow = await makePublished();
    const flowWithRun = await makePublished();
    const flowOfApp = await makePublished("shop");
    await store.queueRuns([sampleRun({ flow_id: flowWithRun.id, version: 1 })]);
    for (const flow of [oldFlow, flowWithRun]) await store.deleteFlow(keyOf(flow), START);
    await store.deleteApp("acme", "shop", START);
    await store.deleteFlow(keyOf(recentFlow), LATER);

    expect(await store.sweepFlows(START, 9)).toBe(0);
    expect(await store.sweepFlows(LATER, 1)).toBe(1);
    expect(await store.sweepFlows(LATER, 9)).toBe(1);
    expect(await store.sweepFlows(LATER, 9)).toBe(0);
    for (const { id } of [oldFlow, flowOfApp])
      expect(await store.listVersions("acme", id)).toEqual([]);
    for (const { id } of [activeFlow, recentFlow, flowWithRun])
      expect(await store.listVersions("acme", id)).toHaveLength(1);
    expect(await store.getFlow("acme", activeFlow.id)).toEqual(activeFlow);

    await save(store, await claim(store));
    await store.sweepRuns(LATER, 9);
    expect(await store.sweepFlows(LATER, 9)).toBe(1);
    expect(await store.listVersions("acme", flowWithRun.id)).toEqual([]);
    // The id of a removed flow can be used again. Its versions start at 1.
    const graph = intents("Another");
    await makeFlow(store, graph, { id: flowWithRun.id });
    expect(await publish(store, flowWithRun, { at: LATER })).toMatchObject({ version: 1 });
    await store.queueRuns([sampleRun({ flow_id: flowWithRun.id, version: 1 })]);
    expect(await claim(store)).toMatchObject([{ graph }]);
  });

  it("hides a deleted flow, but keeps its versions for its runs", async ({ store }) => {
    const graph = intents("Go");
    const flow = await publish(store, await makeFlow(store, graph));
    await store.queueRuns([sampleRun({ flow_id: flow.id, version: 1 })]);
    const { id } = flow;
    const none = { outcome: "no_flow" };
    expect(await store.deleteFlow({ tenant: "umbrella", id }, START)).toEqual(none);
    expect(await store.deleteFlow({ tenant: "acme", id }, START)).toEqual({ outcome: "deleted" });
    expect(await store.deleteFlow({ tenant: "acme", id }, START)).toEqual(none);
    expect(await store.getFlow("acme", flow.id)).toBeUndefined();
    expect((await store.listFlows("acme", { limit: 9 })).flows).toEqual([]);
    expect(await store.findTool("acme", "desk", "go", START)).toBeUndefined();
    expect(await store.getTrigger("acme", flow.id, "node Go")).toBeUndefined();
    expect(await claim(store)).toMatchObject([{ graph }]);
    // The tool name of the deleted flow is free immediately.
    expect(toolNamesOf((await makeFlow(store, graph)).graph)).toEqual(["go"]);
  });

  it("deletes an app and its flows, and changes no other app", async ({ store }) => {
    const graph = intents("Go");
    const flow = await publish(store, await makeFlow(store, graph));
    const draft = await makeFlow(store, intents("Draft"));
    const other = await publish(store, await makeFlow(store, graph, { app: "shop" }));
    const theirs = await publish(store, await makeFlow(store, graph, { tenant: "umbrella" }));
    await store.queueRuns([sampleRun({ flow_id: flow.id, version: 1 })]);
    expect(await store.deleteApp("acme", "none", START)).toBe(false);
    expect(await store.deleteApp("acme", "desk", START)).toBe(true);
    expect(await store.deleteApp("acme", "desk", START)).toBe(false);
    expect(ids((await store.listFlows("acme", { limit: 9 })).flows)).toEqual([other.id]);
    expect(await store.listTools("acme", "desk", "", 9)).toEqual([]);
    expect(await store.listTools("acme", "shop", "", 9)).toHaveLength(1);
    expect(await store.getFlow("umbrella", theirs.id)).toEqual(theirs);
    expect(await store.listTools("umbrella", "desk", "", 9)).toHaveLength(1);
    for (const { id } of [flow, draft])
      expect(await store.editFlow({ tenant: "acme", id }, START, setDraft("x", intents()))).toEqual(
        { outcome: "no_flow" },
      );
    expect(itemAt(await claim(store), 0).graph).toEqual(graph);
    const recreated = await makeFlow(store, intents("Go", "Draft"));
    expect(toolNamesOf(recreated.graph)).toEqual(["go", "draft"]);
    expect(ids((await store.listFlows("acme", { limit: 9, app: "desk" })).flows)).toEqual([
      recreated.id,
    ]);
  });
}
