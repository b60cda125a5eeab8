import { expect } from "vitest";
import { ids } from "../../../events/store/contract/sample.ts";
import type { It } from "../../../kernel/store/contract/subject.ts";
import type { Store } from "../../../store.ts";
import type { ConvertFlows, EditFlow } from "../../model.ts";
import { intents, publication, sampleApp, setDraft, toolNamesOf } from "./flow-sample.ts";
import { LEGACY_FLOWS, LEGACY_TYPED_FLOWS } from "./legacy-sample.ts";

const BY_AGE = ["weather", "bare", "twin", "odd", "legacy", "hopeless"];

/** Every legacy flow is migrated into both apps, with different ids. */
const apps = [sampleApp(), sampleApp({ tenant: "umbrella", slug: "shop" })];
const countFlows = async (store: Store): Promise<number[]> =>
  Promise.all(
    apps.map(
      async ({ tenant, slug }) =>
        (await store.listFlows(tenant, { app: slug, limit: 99 })).flows.length,
    ),
  );
/** Converts each legacy flow with `edit`, for both apps. */
const convertWith =
  (edit: (name: string) => EditFlow): ConvertFlows =>
  (rows) =>
    apps.map((app) => ({
      app,
      plan: () =>
        rows.map(({ id, tool_name }) => ({
          id: `${app.slug} ${id}`,
          edit: edit(String(tool_name)),
        })),
      publish: (flow) => (flow.id.endsWith("odd") ? undefined : publication()(flow)),
    }));
const convert = convertWith((name) => setDraft(name, intents(name)));
const notCalled: ConvertFlows = () => {
  throw new Error("There should be nothing to convert.");
};

export function legacyFlowsContract(it: It): void {
  it("finds no legacy flows in a new database, and does not change its flows", async ({
    store,
    reopen,
  }) => {
    await store.saveFlows(sampleApp(), () => [{ id: "a", edit: setDraft("A", intents("Go")) }]);
    expect(await store.migrateLegacyFlows(notCalled)).toEqual({ outcome: "none" });
    const reopened = await reopen();
    expect(await reopened.migrateLegacyFlows(notCalled)).toEqual({ outcome: "none" });
    expect(await reopened.getFlow("acme", "a")).toMatchObject({ name: "A" });
  });

  it("migrates the flows once, and renames their table", async ({ reopen, reopenOn, sql }) => {
    const store = await reopenOn(LEGACY_FLOWS);
    expect((await store.listFlows("acme", { limit: 99 })).flows).toEqual([]);
    const before = await sql("SELECT * FROM older_flows ORDER BY id");
    let received: unknown[] = [];
    const migrated = await store.migrateLegacyFlows((flows, apps) => {
      received = [ids(flows as { id: string }[]), apps.map(({ slug }) => slug)];
      return convert(flows, apps);
    });
    // The oldest flow is first, so that it keeps a tool name that several flows have.
    expect(received).toEqual([BY_AGE, ["support-desk"]]);
    expect(migrated).toMatchObject({ outcome: "migrated", table: "migrated_flows" });
    if (migrated.outcome !== "migrated") return;
    expect(migrated.apps.map(ids)).toEqual(
      ["desk", "shop"].map((app) => BY_AGE.map((id) => `${app} ${id}`)),
    );
    expect(await sql("SELECT * FROM migrated_flows ORDER BY id")).toEqual(before);

    const all = (await store.listFlows("acme", { limit: 99 })).flows;
    expect(await countFlows(store)).toEqual([6, 6]);
    const tools = await store.listTools("acme", "desk", "", 99);
    expect(tools.map(({ tool_name }) => tool_name)).toContain("getweather_2");
    expect(await store.getFlow("acme", "desk odd")).toMatchObject({ version: null });
    expect(await store.getFlow("acme", "desk weather")).toMatchObject({ version: 1 });

    expect(await store.migrateLegacyFlows(notCalled)).toEqual({ outcome: "none" });
    const reopened = await reopen();
    expect(await reopened.migrateLegacyFlows(notCalled)).toEqual({ outcome: "none" });
    expect((await reopened.listFlows("acme", { limit: 99 })).flows).toEqual(all);
  });

  it("recognizes columns in snake case, camel case and lower case", async ({ reopenOn }) => {
    const store = await reopenOn(LEGACY_TYPED_FLOWS);
    let received: unknown[] = [];
    await store.migrateLegacyFlows((flows) => {
      received = flows.map(({ id, toolName }) => [id, toolName]);
      return [];
    });
    expect(received).toEqual([
      [1, "greet"],
      [2, "off"],
    ]);
    const withLowerCase = await reopenOn("CREATE TABLE flows (id TEXT, toolname TEXT)");
    expect(await withLowerCase.migrateLegacyFlows(() => [])).toMatchObject({ outcome: "migrated" });
  });

  it("recognizes a table without tool columns", async ({ reopenOn }) => {
    const store = await reopenOn('CREATE TABLE flows (id TEXT, "appId" TEXT, nodes TEXT)');
    expect(await store.migrateLegacyFlows(() => [])).toMatchObject({ outcome: "migrated" });
  });

  it("migrates no flow if one of them fails, and all flows in the next call", async ({
    reopen,
    reopenOn,
    sql,
  }) => {
    const store = await reopenOn(LEGACY_FLOWS);
    const before = await sql("SELECT * FROM older_flows ORDER BY id");
    let remaining = 9;
    const failing: ConvertFlows[] = [
      convertWith((name) =>
        remaining-- > 0
          ? setDraft(name, intents(name))
          : () => {
              throw new Error("interrupted");
            },
      ),
      (...legacy) =>
        convert(...legacy)?.map((app) => ({
          ...app,
          publish: (flow, saved) => {
            if (flow.id === "shop twin") throw new Error("interrupted");
            return app.publish(flow, saved);
          },
        })),
    ];
    for (const convertFailing of failing) {
      await expect(store.migrateLegacyFlows(convertFailing)).rejects.toThrow("interrupted");
      expect(await sql("SELECT * FROM older_flows ORDER BY id")).toEqual(before);
      for (const table of ["flows", "apps", "tool_names", "triggers", "flow_versions"])
        expect(await sql(`SELECT * FROM ${table}`)).toEqual([]);
    }
    const reopened = await reopen();
    expect(await reopened.migrateLegacyFlows(convert)).toMatchObject({ outcome: "migrated" });
    const flows = (await reopened.listFlows("acme", { app: "desk", limit: 99 })).flows;
    expect(flows.flatMap(({ graph }) => toolNamesOf(graph)).toSorted()).toEqual(
      ["bare_flow", "getweather", "getweather_2", "hopeless", "null", "odd_one"].toSorted(),
    );
  });

  it("postpones the migration if the conversion returns undefined", async ({
    reopen,
    reopenOn,
    sql,
  }) => {
    const store = await reopenOn(LEGACY_FLOWS);
    expect(await store.migrateLegacyFlows(() => undefined)).toEqual({ outcome: "postponed" });
    const reopened = await reopen();
    expect(await sql("SELECT * FROM older_flows")).toHaveLength(6);
    expect(await reopened.migrateLegacyFlows(convert)).toMatchObject({ outcome: "migrated" });
  });

  it("migrates the flows once in concurrent calls", async ({ reopenOn, reopen }) => {
    await reopenOn(LEGACY_FLOWS);
    const first = await reopen();
    const second = await reopen();
    const migrated = await Promise.all(
      [first, second, first, second].map((store) => store.migrateLegacyFlows(convert)),
    );
    expect(migrated.map(({ outcome }) => outcome).toSorted()).toEqual([
      "migrated",
      "none",
      "none",
      "none",
    ]);
    expect(await countFlows(first)).toEqual([6, 6]);
  });

  it("chooses another name if a table `migrated_flows` exists", async ({ reopenOn, sql }) => {
    const store = await reopenOn(`${LEGACY_FLOWS}; CREATE TABLE migrated_flows (id TEXT)`);
    expect(await store.migrateLegacyFlows(convert)).toMatchObject({ table: "migrated_flows_2" });
    expect(await sql("SELECT * FROM migrated_flows")).toEqual([]);
    expect(await sql("SELECT * FROM migrated_flows_2")).toHaveLength(6);
  });
}
