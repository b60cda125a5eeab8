import { expect } from "vitest";
import { ids, START } from "../../../events/store/contract/sample.ts";
import type { It } from "../../../kernel/store/contract/subject.ts";
import type { EditFlow } from "../../model.ts";
import { intents, makeFlow, publish, sampleApp, setDraft, toolNamesOf } from "./flow-sample.ts";

const app = sampleApp();
/** Returns the plan for one flow: its draft has these tools. */
const planFlow = (id: string, ...tools: string[]) => ({
  id,
  edit: setDraft(id, intents(...tools)),
});

export function saveFlowsContract(it: It): void {
  it("saves several flows of an app, and creates the app", async ({ store, reopen }) => {
    const saved = await store.saveFlows(app, (flows) => {
      expect(flows).toEqual([]);
      return [planFlow("b", "Go"), planFlow("a", "Go")];
    });
    expect(ids(saved)).toEqual(["b", "a"]);
    expect(saved.map(({ graph }) => toolNamesOf(graph))).toEqual([["go"], ["go_2"]]);
    const reopened = await reopen();
    expect(await reopened.getApp("acme", "desk")).toEqual(app);
    expect(ids((await reopened.listFlows("acme", { app: "desk", limit: 9 })).flows)).toEqual([
      "a",
      "b",
    ]);
  });

  it("edits existing flows, and does not change the app or its other flows", async ({ store }) => {
    const flow = await publish(store, await makeFlow(store, intents("Go")));
    const other = await makeFlow(store, intents("Stay"));
    const renamed = { ...app, name: "Another", created_at: START + 9, updated_at: START + 9 };
    const saved = await store.saveFlows(renamed, (flows) => {
      expect(ids(flows).toSorted()).toEqual([flow.id, other.id].toSorted());
      return [planFlow(flow.id, "Went"), planFlow("new")];
    });
    expect(saved).toMatchObject([
      { id: flow.id, revision: flow.revision + 1, version: 1, updated_at: START + 9 },
      { id: "new", revision: 1 },
    ]);
    expect(await store.getApp("acme", "desk")).toEqual(app);
    expect(await store.getFlow("acme", other.id)).toEqual(other);
  });

  it("saves no flow if one of the edits throws", async ({ store }) => {
    const reject: EditFlow = () => {
      throw new Error("Empty description");
    };
    const plan = () => [planFlow("a", "Go"), { id: "b", edit: reject }];
    await expect(store.saveFlows(app, plan)).rejects.toThrow("Empty description");
    expect(await store.getApp("acme", "desk")).toBeUndefined();
    expect(await store.getFlow("acme", "a")).toBeUndefined();
    // The tool name is still free.
    expect(toolNamesOf((await makeFlow(store, intents("Go"))).graph)).toEqual(["go"]);
  });

  it("restores a deleted flow with its versions, but rejects an id of another app or tenant", async ({
    store,
  }) => {
    const flow = await publish(store, await makeFlow(store, intents("Go")));
    await store.deleteFlow({ tenant: "acme", id: flow.id }, START);
    const [restored] = await store.saveFlows(app, () => [planFlow(flow.id, "Go")]);
    expect(restored).toMatchObject({ id: flow.id, version: null });
    expect(await publish(store, flow)).toMatchObject({ version: 2 });

    const otherApp = await makeFlow(store, intents(), { app: "shop" });
    const theirs = await makeFlow(store, intents(), { tenant: "umbrella" });
    for (const { id } of [otherApp, theirs]) {
      const result = store.saveFlows(app, () => [planFlow("mine"), planFlow(id)]);
      await expect(result).rejects.toThrow("belongs to a flow of another app or tenant");
    }
    await store.deleteFlow({ tenant: "umbrella", id: theirs.id }, START);
    await expect(store.saveFlows(app, () => [planFlow(theirs.id)])).rejects.toThrow(
      "another app or tenant",
    );
    expect(await store.getFlow("acme", "mine")).toBeUndefined();
    // The id of a deleted flow can move to another app of the same tenant.
    await store.deleteFlow({ tenant: "acme", id: otherApp.id }, START);
    await store.saveFlows(app, () => [planFlow(otherApp.id)]);
    expect(await store.getFlow("acme", otherApp.id)).toMatchObject({ app: "desk" });
  });

  it("uses the fallback id if the id belongs to another app or tenant", async ({ store }) => {
    const { id } = await makeFlow(store, intents(), { tenant: "umbrella" });
    const plan = () => [
      { ...planFlow(id), fallbackId: "other" },
      { ...planFlow("mine"), fallbackId: "not needed" },
    ];
    expect(ids(await store.saveFlows(app, plan))).toEqual(["other", "mine"]);
    expect(await store.getFlow("umbrella", id)).toMatchObject({ name: "A flow" });
  });

  it("assigns different tool names in concurrent calls", async ({ store }) => {
    const saved = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        store.saveFlows(app, () => [planFlow(`${index}a`, "Go"), planFlow(`${index}b`, "Go")]),
      ),
    );
    const names = saved.flat().flatMap(({ graph }) => toolNamesOf(graph));
    expect(new Set(names).size).toBe(20);
  });
}
