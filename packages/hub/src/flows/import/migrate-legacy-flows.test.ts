import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import Database from "better-sqlite3";
import pg from "pg";
import { describe, expect, inject, it, onTestFinished } from "vitest";
import { createDatabase } from "../../../../../test/support/postgres.ts";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { openPostgres } from "../../kernel/backends/postgres.ts";
import { openSqlite } from "../../kernel/backends/sqlite.ts";
import { type Store, storeDefinition } from "../../store.ts";
import { LEGACY_FLOWS, LEGACY_TYPED_FLOWS } from "../store/contract/legacy-sample.ts";
import { testRunJob } from "../test-run-job.ts";
import { type LegacyMigration, migrateLegacyFlows } from "./migrate-legacy-flows.ts";

const openers: Record<string, (statements: string) => Promise<Store>> = {
  async SQLite(statements) {
    const file = `${tempFolder()}/hub.db`;
    const db = new Database(file);
    db.exec(statements);
    db.close();
    return openSqlite(storeDefinition, file);
  },
  async PostgreSQL(statements) {
    const url = await createDatabase(inject("postgresUrl"));
    const client = new pg.Client(url);
    await client.connect();
    await client.query(statements);
    await client.end();
    return openPostgres(storeDefinition, url);
  },
};

let ids = 0;
const migrate = (store: Store, options: { tenant: string | undefined } = { tenant: "local" }) =>
  migrateLegacyFlows({
    store,
    registry: nodeTypes,
    runJob: testRunJob,
    ...options,
    newId: () => `new-${++ids}`,
    now: () => 1_000,
  });

function summarize(result: LegacyMigration) {
  if (result.outcome !== "migrated") throw new Error(result.outcome);
  const flows = result.apps.flatMap(({ flows }) => flows);
  const findFlow = (id: string) => flows.find((flow) => flow.id === id);
  return {
    ...result,
    outcomes: flows.map(({ id, outcome }) => `${id} ${outcome}`),
    findFlow,
    notes: (id: string) => findFlow(id)?.notes.join("\n") ?? "",
  };
}

describe.each(Object.keys(openers))("legacy flows in %s", (backend) => {
  const open = async (statements: string): Promise<Store> => {
    const store = await (openers[backend] as (typeof openers)["SQLite"])(statements);
    onTestFinished(() => store.close());
    return store;
  };
  const toolsOf = async (store: Store, app: string) =>
    (await store.listTools("local", app, "", 99)).map(({ tool_name }) => tool_name);

  it("become flows with triggers, and every change causes a note", async () => {
    const store = await open(LEGACY_FLOWS);
    const result = summarize(await migrate(store));
    expect(result.apps.map(({ tenant, app }) => [tenant, app])).toEqual([
      ["local", "support-desk"],
      ["local", "billing"],
    ]);
    expect(result.outcomes).toEqual([
      "weather created",
      "bare created",
      "twin created",
      "odd created",
      "legacy created",
    ]);
    expect(await store.getApp("local", "support-desk")).toMatchObject({ name: "Support Desk" });

    expect(await store.getFlow("local", "weather")).toMatchObject({
      name: "Get Weather Data",
      description: "Asks the weather service.",
      version: 1,
      graph: {
        nodes: [
          {
            id: "n1",
            slug: "ask",
            parameters: {
              toolName: "getWeather",
              toolDescription: "The weather of a city, now.",
              parameters: [{ name: "city" }],
              isActive: true,
            },
          },
          { id: "n2" },
        ],
        edges: [{ id: "c1", source: "n1", target: "n2" }],
      },
    });
    expect((await store.getFlow("local", "bare"))?.graph).toMatchObject({
      nodes: [
        { id: "n1" },
        { name: "Bare flow", position: { x: 100, y: 100 }, parameters: { isActive: false } },
      ],
      edges: [{ target: "n1" }],
    });
    // The inactive tool is not listed.
    expect(await toolsOf(store, "support-desk")).toEqual(["getWeather", "getWeather_2"]);
    expect(result.findFlow("odd")?.not_published).toContain("toolName: must be");

    expect(result.notes("weather")).toContain('"getWeather" is kept');
    // Booleans that the database stores as numbers, and dates, cause no note.
    expect(result.notes("bare")).toBe(
      "A new trigger is connected to n1: these nodes had no incoming edge.",
    );
    expect(result.notes("twin")).toContain("this one is now getWeather_2");
    expect(result.notes("odd")).toContain('parameters: "none" is neither a list of parameters');
    expect(result.notes("odd")).toContain(
      'owner_email: "ada@example.com" is not a field of a flow',
    );
    expect(result.findFlow("legacy")?.not_published).toContain("LegacyThing");
    expect(await store.getFlow("local", "legacy")).toMatchObject({ version: null });
    expect(result.rejected).toEqual([
      { id: "hopeless", name: "", reason: "name: is missing: it must be a string" },
    ]);
    expect(await migrate(store)).toEqual({ outcome: "none" });
  });

  it("keep an object of parameters, and stay drafts if a call omits a required one", async () => {
    const rows: [string, object, object[]][] = [
      [
        "called",
        { city: { type: "string", required: true }, days: { type: "number", default: 3 } },
        [],
      ],
      ["good", [], [{ targetFlowId: "called", inputMapping: { city: "Bern" } }]],
      ["bad", [], [{ targetFlowId: "called" }]],
      ["unclear", { city: { type: "place" } }, []],
    ];
    const values = rows.map(([id, parameters, calls]) => {
      const nodes = [
        { id: "u1", type: "UserIntent", name: "Start", parameters: {} },
        ...calls.map((call) => ({ id: "c1", type: "CallFlow", name: "Ask", parameters: call })),
      ];
      const connections = calls.map(() => ({ sourceNodeId: "u1", targetNodeId: "c1" }));
      const texts = [parameters, nodes, connections].map((value) => JSON.stringify(value));
      return `('${[id, id, id, "Does.", ...texts].join("', '")}')`;
    });
    // The callers come first.
    const store = await open(`
      CREATE TABLE flows (id TEXT, name TEXT, "toolName" TEXT, "toolDescription" TEXT, parameters TEXT, nodes TEXT, connections TEXT);
      INSERT INTO flows VALUES ${values.toReversed().join(", ")}`);
    const result = summarize(await migrate(store));
    expect((await store.getFlow("local", "called"))?.graph.nodes[0]?.parameters).toMatchObject({
      parameters: [
        { name: "city", type: "string", optional: false },
        { name: "days", type: "number", default: 3 },
      ],
    });
    expect(result.notes("called")).toBe(
      "Start: parameters: was an object; each property is now a parameter.",
    );
    const versions = rows.map(async ([id]) => (await store.getFlow("local", id))?.version);
    expect(await Promise.all(versions)).toEqual([1, 1, null, null]);
    expect(result.findFlow("bad")?.not_published).toContain(
      'Ask: input: missing required property "city": must match the parameters of Start in called',
    );
    expect(result.notes("unclear")).toContain(
      'Start: parameters.city: {"type":"place"} does not describe a parameter',
    );
    expect(result.findFlow("unclear")?.not_published).toContain("Start: parameters[0].type: ");
  });

  it("may have typed columns, other column names, and no app", async () => {
    const store = await open(LEGACY_TYPED_FLOWS);
    const result = summarize(await migrate(store));
    expect(result.outcomes).toEqual(["1 created", "2 created"]);
    expect(result.rejected).toEqual([]);
    expect(result.notes("2")).toBe("");
    expect(await toolsOf(store, "flows")).toEqual(["greet"]);
  });

  it("do not replace existing flows", async () => {
    const store = await open(LEGACY_FLOWS);
    const app = (tenant: string, slug: string) => ({
      tenant,
      slug,
      name: slug,
      description: "",
      created_at: 1,
      updated_at: 1,
    });
    const plan = (id: string, name: string, tool?: string) => () => [
      {
        id,
        edit: () => ({
          name,
          description: "",
          graph: { nodes: [], edges: [] },
          toolNames: tool ? [{ name: tool }] : [],
        }),
      },
    ];
    await store.saveFlows(app("local", "support-desk"), plan("mine", "Bare flow", "getWeather"));
    await store.saveFlows(app("local", "shop"), plan("odd", "Elsewhere"));
    await store.saveFlows(app("theirs", "billing"), plan("legacy", "Theirs"));
    const result = summarize(await migrate(store));
    expect(result.outcomes.map((outcome) => outcome.replace(/new-\d+/, "new"))).toEqual([
      "weather created",
      "mine skipped",
      "twin created",
      "new created",
      "new created",
    ]);
    expect(result.apps[1]?.flows[1]?.not_published).toContain("LegacyThing");
    expect(await toolsOf(store, "support-desk")).toHaveLength(2);
    expect(result.notes("weather")).toContain("this one is now getWeather_2");
    expect(await store.getFlow("local", "odd")).toMatchObject({ name: "Elsewhere" });
    expect(await store.getFlow("theirs", "legacy")).toMatchObject({ name: "Theirs" });
  });

  it("belong to the tenant in their row or the default tenant; without both, the table is unchanged", async () => {
    const withoutTenant = await open(LEGACY_FLOWS);
    expect(await migrate(withoutTenant, { tenant: undefined })).toEqual({
      outcome: "no_tenant",
      rows: 6,
    });
    expect(summarize(await migrate(withoutTenant)).outcomes).toHaveLength(5);

    const store = await open(`
      ${LEGACY_FLOWS};
      ALTER TABLE flows ADD COLUMN tenant_id INTEGER;
      UPDATE flows SET tenant_id = 42 WHERE id IN ('weather', 'bare');
      UPDATE flows SET tenant_id = 43 WHERE id = 'twin'`);
    const result = summarize(await migrate(store, { tenant: undefined }));
    expect(result.apps.map(({ tenant, app }) => [tenant, app])).toEqual([
      ["42", "support-desk"],
      ["43", "support-desk"],
    ]);
    // Tool names are unique per app and tenant.
    expect(result.notes("twin")).not.toContain("getWeather_2");
    expect(result.notes("twin")).not.toContain("tenant");
    expect(result.rejected).toHaveLength(3);
    expect(result.rejected[0]).toMatchObject({
      id: "odd",
      reason: expect.stringContaining("tenant_id"),
    });
  });

  it("stay in separate apps, even if the slugs of the apps are equal or invalid", async () => {
    const nodes = '[{"id":"a","type":"Return","name":"End"}]';
    const store = await open(`
      CREATE TABLE apps (id TEXT, slug TEXT, name TEXT, tenant_id TEXT);
      INSERT INTO apps VALUES ('1', 'shop', 'Shop', NULL), ('2', 'Shop!', 'Second shop', NULL),
        ('3', '日本', 'Japan', NULL), ('4', 'größe', 'Size', NULL),
        ('5', 'shop', 'Their shop', 'theirs'), ('6', 'long', '${"x".repeat(9_000)}', NULL);
      CREATE TABLE flows (id TEXT, app_id TEXT, name TEXT, tool_name TEXT, tool_description TEXT, nodes TEXT, tenant_id TEXT);
      INSERT INTO flows VALUES ${[1, 2, 3, 4, 5, 6]
        .map(
          (id) =>
            `('f${id}', '${id}', 'Go', 'go', 'Goes.', '${nodes}', ${id === 5 ? "'theirs'" : "NULL"})`,
        )
        .join(", ")}`);
    const result = summarize(await migrate(store));
    expect(
      result.apps.map(({ tenant, app, flows, notes }) => [
        tenant,
        app,
        flows.map(({ id }) => id).join(),
        notes.length,
      ]),
    ).toEqual([
      ["local", "shop", "f1", 0],
      ["local", "shop-2", "f2", 1],
      ["local", "app", "f3", 1],
      ["local", "grosse", "f4", 1],
      ["theirs", "shop", "f5", 0],
    ]);
    expect(await store.getApp("local", "shop-2")).toMatchObject({ name: "Second shop" });
    expect(result.rejected).toMatchObject([
      { id: "f6", reason: expect.stringContaining("app.name") },
    ]);
  });

  it("are not migrated if their nodes are not an array", async () => {
    const values = [`'[{"id":'`, "'null'", `'{"a":1}'`, "'5'", "''", "NULL", "'[]'"];
    const store = await open(`
      CREATE TABLE flows (id TEXT, name TEXT, "toolName" TEXT, "toolDescription" TEXT, nodes TEXT, connections TEXT);
      INSERT INTO flows VALUES ${values
        .map(
          (nodes, index) =>
            `('f${index}', 'Flow ${index}', 'tool_${index}', 'Does.', ${nodes}, '[]')`,
        )
        .join(", ")}`);
    const result = summarize(await migrate(store));
    expect(result.rejected.map(({ id, reason }) => `${id} ${reason.slice(0, 6)}`)).toEqual(
      [0, 1, 2, 3, 4, 5].map((index) => `f${index} nodes:`),
    );
    // In the legacy system, a flow without nodes was a tool too.
    expect(await toolsOf(store, "flows")).toEqual(["tool_6"]);
  });

  it("are migrated even if other rows cannot be stored", async () => {
    const long = "x".repeat(20_000);
    const nested = `${"[".repeat(3_000)}${"]".repeat(3_000)}`;
    const tool = (name: string) =>
      JSON.stringify([
        { id: "a", type: "UserIntent", name: "A", parameters: {} },
        { id: "b", type: "UserIntent", name: "B", parameters: { toolName: name } },
      ]);
    const circle = '[{"id":"a","type":"Return","name":"A"},{"id":"b","type":"Return","name":"B"}]';
    const edges = '[{"source":"a","target":"b"},{"source":"b","target":"a"}]';
    const store = await open(`
      CREATE TABLE flows (id TEXT, app TEXT, app_slug TEXT, name TEXT, "toolName" TEXT, parameters TEXT, nodes TEXT, edges TEXT);
      INSERT INTO flows VALUES
        ('a', '', 'desk', 'Deep', 'deep', '${nested}', '[]', '[]'),
        ('b', '', 'desk', 'Long', '${long}', '[]', '[]', '[]'),
        ('c', '', 'desk', 'Cut', 'cut', '[]', '${tool("a\0b")}', '[]'),
        ('d', '', '???', 'Homeless', 'homeless', '[]', '[]', '[]'),
        ('e', '', 'desk', 'Circle', 'circle', '[]', '${circle}', '${edges}'),
        ('f', '', 'desk', 'Scrap', 'scrap', '[]', '[]', 'no JSON'),
        (NULL, '', 'desk', NULL, NULL, NULL, NULL, NULL),
        ('good', '', 'desk', 'Good', 'good', '[]', '[]', '[]'),
        ('good', '', 'desk', 'As good', 'good', '[]', '[]', '[]')`);
    const result = summarize(await migrate(store));
    const reasons = result.rejected.map(({ id, reason }) => `${id}: ${reason.slice(0, 32)}`);
    expect(reasons.toSorted()).toEqual([
      ": name: is missing: it must be a s",
      "a: the flow is nested too deeply: i",
      "b: the tool name xxxxxxxxxxxxxxxxxx",
      'c: "a\\u0000b" contains the characte',
      'd: app.slug: "???": A slug has 1 to',
      "e: edges: Cycle: A → B → A",
      "f: edges: must be an array, but is ",
    ]);
    expect(await toolsOf(store, "desk")).toEqual(["good", "good_2"]);
  });
});
