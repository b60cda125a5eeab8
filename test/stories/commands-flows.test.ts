/** The commands `import-flows`, `flows pull` and `flows push` run as separate processes. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import pg from "pg";
import { describe, expect, inject, it, onTestFinished, vi } from "vitest";
import { openPostgres } from "../../packages/hub/src/kernel/backends/postgres.ts";
import { openSqlite } from "../../packages/hub/src/kernel/backends/sqlite.ts";
import type { Store } from "../../packages/hub/src/store.ts";
import { storeDefinition } from "../../packages/hub/src/store.ts";
import type { Backend } from "../support/api-client.ts";
import { edge, greeting, intent, node } from "../support/flow-samples.ts";
import { CLI, runCli } from "../support/hub-process.ts";
import { createMigratedDatabase } from "../support/postgres.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { WAIT } from "../support/timeouts.ts";

const LEGACY_FILE = fileURLToPath(new URL("../fixtures/legacy-flows.json", import.meta.url));

interface Fixture {
  env: Record<string, string>;
  run(...args: string[]): ReturnType<typeof runCli>;
  /** Runs a command with `--json`, and returns the parsed output. */
  // biome-ignore lint/suspicious/noExplicitAny: the tests read output of every shape
  json(...args: string[]): Promise<any>;
  /** Calls `work` with the opened database. */
  withStore<Result>(work: (store: Store) => Promise<Result>): Promise<Result>;
}

async function createFixture(backend: Backend = "SQLite"): Promise<Fixture> {
  const data = tempFolder();
  const url =
    backend === "SQLite" ? undefined : await createMigratedDatabase(inject("postgresUrl"));
  if (!url) await openSqlite(storeDefinition, join(data, "signalbox.db")).close();
  const env: Record<string, string> = {
    SIGNALBOX_DATA: data,
    ...(url && { DATABASE_URL: url }),
  };
  return {
    env,
    run: (...args) => runCli(args, { env }),
    async json(...args) {
      const { stdout, stderr } = await runCli([...args, "--json"], { env });
      expect(stderr).toBe("");
      return JSON.parse(stdout);
    },
    async withStore(work) {
      const store = url
        ? await openPostgres(storeDefinition, url)
        : openSqlite(storeDefinition, join(data, "signalbox.db"));
      try {
        return await work(store);
      } finally {
        await store.close();
      }
    },
  };
}
const listFlows = (fixture: Fixture, app: string) =>
  fixture.withStore(async (store) => (await store.listFlows("local", { app, limit: 1000 })).flows);
const writeTempFile = (content: unknown): string => {
  const file = join(tempFolder(), "flows.json");
  writeFileSync(file, typeof content === "string" ? content : JSON.stringify(content));
  return file;
};
const outcomesOf = (app: { flows: { name: string; outcome: string }[] }) =>
  app.flows.map(({ name, outcome }) => `${name} ${outcome}`);

describe.each<Backend>(["SQLite", "PostgreSQL"])("import-flows, on %s", (backend) => {
  it("imports a legacy table, app by app, and reports problems", async () => {
    const fixture = await createFixture(backend);
    const { apps } = await fixture.json("import-flows", LEGACY_FILE, "--publish");
    expect(apps).toMatchObject([
      {
        app: "support-desk",
        flows: [
          { id: "clx1weather", outcome: "created", published: 1 },
          { id: "clx2bare", outcome: "created", published: 1 },
          { id: "clx3twin", outcome: "created", published: 1 },
        ],
      },
      { app: "billing", flows: [{ id: "4", outcome: "created" }] },
    ]);
    const [weather, bare, twin] = apps[0].flows.map(({ notes }: { notes: string[] }) =>
      notes.join("\n"),
    );
    expect(weather).toContain('"getWeather" is kept');
    expect(weather).toContain('createdAt: "2025-01-01T00:00:00.000Z" is not a field of a flow');
    expect(bare).toContain("toolDescription: was");
    expect(bare).toContain("isActive: was 0; it is now false");
    expect(twin).toContain("getWeather_2");
    expect(apps[1].flows[0].not_published).toMatch(/LegacyThing/);

    const [first, second, third] = await listFlows(fixture, "support-desk");
    expect(first).toMatchObject({
      id: "clx1weather",
      description: "Asks the weather service.",
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
    expect(second?.graph).toMatchObject({
      nodes: [
        { id: "n1" },
        { name: "Bare flow", position: { x: 100, y: 100 }, parameters: { isActive: false } },
      ],
      edges: [{ target: "n1" }],
    });
    expect(third?.graph.nodes).toMatchObject([{ parameters: { toolName: "getWeather_2" } }]);
    const tools = await fixture.withStore((store) =>
      store.listTools("local", "support-desk", "", 9),
    );
    // The inactive tool is not listed.
    expect(tools.map(({ tool_name }) => tool_name)).toEqual(["getWeather", "getWeather_2"]);
  });

  it("changes nothing if repeated, even with --replace", async () => {
    const fixture = await createFixture(backend);
    await fixture.run("import-flows", LEGACY_FILE, "--publish");
    const before = await fixture.withStore(
      async (store) => (await store.listFlows("local", { limit: 99 })).flows,
    );
    expect(before).toHaveLength(4);
    const repeated = await fixture.json("import-flows", LEGACY_FILE, "--publish");
    expect(outcomesOf(repeated.apps[0])).toEqual([
      "Get Weather Data skipped",
      "Bare flow skipped",
      "Get Weather Data skipped",
    ]);
    const replaced = await fixture.json("import-flows", LEGACY_FILE, "--replace", "--publish");
    expect(replaced.apps.flatMap(outcomesOf)).toEqual([
      "Get Weather Data unchanged",
      "Bare flow unchanged",
      "Get Weather Data unchanged",
      "天気 unchanged",
    ]);
    expect(
      await fixture.withStore(
        async (store) => (await store.listFlows("local", { limit: 99 })).flows,
      ),
    ).toEqual(before);
  });

  it("stores all flows of an app or none if killed, and completes the import if repeated", async () => {
    const fixture = await createFixture(backend);
    const file = writeTempFile(manyApps());
    const child = startImport(fixture, file);
    // The import prints each app that it has stored. Nothing reads stdout, so it blocks on a full pipe.
    await once(child.stdout, "readable");
    await killImport(child);
    const countsAfterKill = await countFlowsByApp(fixture);
    expect(countsAfterKill.length).toBeGreaterThanOrEqual(1);
    expect(countsAfterKill.length).toBeLessThan(12);
    expect(new Set(countsAfterKill)).toEqual(new Set([25]));

    const repeated = await fixture.json("import-flows", file);
    expect(repeated.apps.flatMap(outcomesOf)).toHaveLength(300);
    expect(await countFlowsByApp(fixture)).toEqual(Array(12).fill(25));
    const flows = await listFlows(fixture, "app-3");
    const toolNames = flows.flatMap(({ graph }) =>
      graph.nodes.map(({ parameters }) => parameters.toolName),
    );
    expect(new Set(toolNames.filter(Boolean)).size).toBe(25);
  });
});

it("import-flows stores no flow of an app if killed between two of its flows", async () => {
  const fixture = await createFixture("PostgreSQL");
  await fixture.json("import-flows", writeTempFile([]));
  const connect = async () => {
    const client = new pg.Client({ connectionString: fixture.env.DATABASE_URL });
    await client.connect();
    onTestFinished(() => client.end());
    return client;
  };
  const [blocker, observer] = [await connect(), await connect()];
  // This uncommitted tool name blocks the transaction of the import, which inserts the same name.
  await blocker.query("BEGIN");
  await blocker.query(
    "INSERT INTO tool_names (tenant_id, app, name, flow_id, drafted) VALUES ('local', 'app-2', 'tool_7', 'x', 1)",
  );
  const child = startImport(fixture, writeTempFile(manyApps(4)));
  child.stdout.resume();
  await vi.waitFor(async () => {
    const { rows } = await observer.query(
      "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
    );
    expect(rows).toHaveLength(1);
  }, WAIT);
  await killImport(child);
  await blocker.query("ROLLBACK");
  expect(await countFlowsByApp(fixture)).toEqual([25, 25]);
  expect(await listFlows(fixture, "app-2")).toEqual([]);
  await fixture.json("import-flows", writeTempFile(manyApps(4)));
  expect(await countFlowsByApp(fixture)).toEqual(Array(4).fill(25));
});

/** Apps with 25 flows each. Each flow causes a long note, so that the output fills the pipe. */
const manyApps = (count = 12) =>
  Array.from({ length: count }, (_, app) => ({
    app: `app-${app}`,
    flows: Array.from({ length: 25 }, (_, index) => ({
      id: `${app}-${index}`,
      name: `Flow ${index % 20}`,
      toolName: `tool_${index % 10}`,
      toolDescription: "It does.",
      isActive: "yes ".repeat(1000),
      nodes: [{ id: "end", type: "Return", name: "End", parameters: {} }],
      connections: [],
    })),
  }));
const startImport = ({ env }: Fixture, file: string) =>
  spawn(process.execPath, [CLI, "import-flows", file], {
    env: { PATH: process.env.PATH ?? "", ...env },
    stdio: ["ignore", "pipe", "inherit"],
  });
async function killImport(child: ReturnType<typeof startImport>): Promise<void> {
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  expect((await ended)[1]).toBe("SIGKILL");
}
/** Returns the number of flows of each app. */
async function countFlowsByApp(fixture: Fixture): Promise<number[]> {
  const all = await fixture.withStore(
    async (store) => (await store.listFlows("local", { limit: 1000 })).flows,
  );
  return [...Map.groupBy(all, ({ app }) => app).values()].map(({ length }) => length);
}

describe("import-flows", () => {
  it("accepts one flow, a list, or { app, flows }, and recognizes existing flows by name", async () => {
    const fixture = await createFixture();
    await fixture.json("import-flows", writeTempFile(greeting), "--app", "one");
    const twoEqualFlows = writeTempFile([greeting, greeting]);
    expect(
      outcomesOf((await fixture.json("import-flows", twoEqualFlows, "--app", "one")).apps[0]),
    ).toEqual(["Greeting skipped", "Greeting created"]);
    expect(
      outcomesOf((await fixture.json("import-flows", twoEqualFlows, "--app", "one")).apps[0]),
    ).toEqual(["Greeting skipped", "Greeting skipped"]);
    const app = { slug: "two", name: "The second", description: "With words" };
    await fixture.json("import-flows", writeTempFile({ app, flows: [greeting] }));
    expect(await fixture.withStore((store) => store.getApp("local", "two"))).toMatchObject(app);
    expect(await listFlows(fixture, "one")).toHaveLength(2);
  });

  it("does not overwrite existing flows without --replace", async () => {
    const fixture = await createFixture();
    const file = writeTempFile({ ...greeting, id: "hello" });
    await fixture.json("import-flows", file, "--app", "desk", "--publish");
    const changed = { ...greeting, id: "hello", description: "Changed" };
    await fixture.json("import-flows", writeTempFile(changed), "--app", "desk", "--replace");
    expect(await listFlows(fixture, "desk")).toMatchObject([
      { description: "Changed", version: 1 },
    ]);
    const result = await fixture.run("import-flows", file, "--app", "desk", "--publish");
    expect(result.stdout).toMatch(/desk \/ Greeting: exists already, left unchanged/);
    expect(await listFlows(fixture, "desk")).toMatchObject([
      { description: "Changed", version: 1 },
    ]);
    await fixture.json("import-flows", file, "--app", "desk", "--replace", "--publish");
    expect(await listFlows(fixture, "desk")).toMatchObject([{ description: "", version: 1 }]);
  });

  it("assigns new ids if other flows have the ids of the file", async () => {
    const fixture = await createFixture();
    const file = writeTempFile({ ...greeting, id: "hello" });
    await fixture.json("import-flows", file, "--app", "one");
    for (const _ of [1, 2]) await fixture.json("import-flows", file, "--app", "two");
    await fixture.json("import-flows", file, "--app", "one", "--tenant", "other");
    const flowsOfTwo = await listFlows(fixture, "two");
    expect(flowsOfTwo).toMatchObject([{ name: "Greeting" }]);
    expect(flowsOfTwo[0]?.id).not.toBe("hello");
    const flowsOfOtherTenant = await fixture.withStore(
      async (store) => (await store.listFlows("other", { limit: 9 })).flows,
    );
    expect(flowsOfOtherTenant).toHaveLength(1);
  });

  it("stores all flows of an app or none, continues with the next app, and reports the error", async () => {
    const fixture = await createFixture();
    const cycle = {
      name: "Round",
      nodes: [intent("Go"), node("A", "Merge"), node("B", "Merge")],
      edges: [edge("A", "B"), edge("B", "A")],
    };
    const file = writeTempFile([
      { ...greeting, app: "bad" },
      { ...cycle, app: "bad" },
      { ...greeting, app: "good" },
      { name: "", app: "ugly", nodes: [{}] },
    ]);
    const { code, stdout } = await fixture.run("import-flows", file);
    expect(code).toBe(1);
    expect(stdout).toMatch(/✗ bad: nothing was stored\. Round: edges: Cycle: A → B → A/);
    expect(stdout).toMatch(/✓ good \/ Greeting: created/);
    expect(stdout).toMatch(/✗ ugly: nothing was stored\. .*name: must not be empty/);
    expect(await listFlows(fixture, "bad")).toEqual([]);
    expect(await fixture.withStore((store) => store.getApp("local", "bad"))).toBeUndefined();
    expect(await listFlows(fixture, "good")).toHaveLength(1);
  });

  it("warns of missing secrets and of code that cannot be parsed, and does not publish such flows", async () => {
    const fixture = await createFixture();
    const headers = { authorization: "{{ secrets.NOPE }}" };
    const withNode = (name: string, type: string, parameters: Record<string, unknown>) => ({
      name,
      nodes: [intent(name), node("step", type, parameters)],
      edges: [edge(`intent ${name}`, "step")],
    });
    const file = writeTempFile([
      withNode("Send", "HttpRequest", { url: "https://example.com", headers }),
      withNode("Count", "Code", { code: "const a = 1;\nreturn a +;" }),
    ]);
    const saved = await fixture.run("import-flows", file, "--app", "desk");
    expect(saved.code).toBe(0);
    expect(saved.stdout).toMatch(/warning: step: headers\.authorization: there is no secret NOPE/);
    expect(saved.stdout).toMatch(/cannot be published yet: step: code: SyntaxError: .*\(line 2\)/);
    const published = await fixture.run("import-flows", file, "--app", "desk", "--publish");
    expect(published.code).toBe(1);
    expect(published.stdout).toMatch(/not published: .*there is no secret NOPE/);
    expect(published.stdout).toMatch(/not published: .*SyntaxError: .*\(line 2\)/);
    expect((await listFlows(fixture, "desk")).map(({ version }) => version)).toEqual([null, null]);
  });

  it("rejects invalid files and arguments", async () => {
    const fixture = await createFixture();
    const invalid: [string[], RegExp][] = [
      [[], /Missing argument FILE/],
      [["no-such-file.json"], /no-such-file\.json cannot be read/],
      [[writeTempFile("{ nonsense")], /flows\.json: is not valid JSON/],
      [[writeTempFile("5")], /must contain a flow, an array of flows/],
      [[writeTempFile('[{"name":"x","app":"a"},5]')], /must contain a flow/],
      [[writeTempFile(greeting)], /--app SLUG/],
      [[writeTempFile(greeting), "--app", "天気"], /A slug has/],
      [[writeTempFile('{"name":"\\u0000","app":"a"}')], /U\+0000/],
      [[writeTempFile(`${"[".repeat(5000)}${"]".repeat(5000)}`)], /nested deeper/],
      [[writeTempFile(greeting), "more"], /Unexpected argument "more"/],
      [[writeTempFile(greeting), "--nonsense"], /--nonsense/],
    ];
    for (const [args, message] of invalid) {
      const { code, stderr } = await fixture.run("import-flows", ...args);
      expect([code, stderr], args.join(" ")).toEqual([2, expect.stringMatching(message)]);
    }
    const github = await runCli(["import-flows", LEGACY_FILE], {
      env: { ...fixture.env, SIGNALBOX_TENANCY: "github" },
    });
    expect([github.code, github.stderr]).toEqual([2, expect.stringMatching(/--tenant/)]);
    const empty = await fixture.json("import-flows", writeTempFile([]));
    expect(empty).toEqual({ apps: [] });
  });

  it("fails if there is no database, and does not create one", async () => {
    const data = tempFolder();
    const result = await runCli(["import-flows", LEGACY_FILE], { env: { SIGNALBOX_DATA: data } });
    expect([result.code, result.stderr]).toEqual([1, expect.stringMatching(/No database at/)]);
    expect(readdirSync(data)).toEqual([]);
  });
});

describe("flows pull and push", () => {
  it("copy flows to another hub without changes", async () => {
    const [fixture, other] = [await createFixture(), await createFixture()];
    const app = { slug: "desk", name: "The desk", description: "Front" };
    await fixture.json("import-flows", writeTempFile({ app, flows: [greeting, greeting] }));
    const dir = join(tempFolder(), "flows");
    const pulled = await fixture.json("flows", "pull", dir);
    expect(pulled.files.map(({ outcome }: { outcome: string }) => outcome)).toEqual(
      Array(3).fill("written"),
    );
    expect(readdirSync(join(dir, "desk")).toSorted()).toEqual([
      "app.json",
      "greeting.json",
      "greeting_2.json",
    ]);
    const text = readFileSync(join(dir, "desk", "greeting.json"), "utf8");
    expect(text).toMatch(/^\{\n {2}"id": /);
    expect(text.endsWith("}\n")).toBe(true);

    expect(outcomesOf((await other.json("flows", "push", dir, "--publish")).apps[0])).toEqual([
      "Greeting created",
      "Greeting created",
    ]);
    const definitionsOf = (flows: Awaited<ReturnType<typeof listFlows>>) =>
      flows.map(({ id, app, name, description, graph }) => ({ id, app, name, description, graph }));
    expect(definitionsOf(await listFlows(other, "desk"))).toEqual(
      definitionsOf(await listFlows(fixture, "desk")),
    );
    expect(await other.withStore((store) => store.getApp("local", "desk"))).toMatchObject(app);
    const unchanged = await other.json("flows", "push", dir, "--publish");
    expect(outcomesOf(unchanged.apps[0])).toEqual(["Greeting unchanged", "Greeting unchanged"]);
    expect((await listFlows(other, "desk")).map(({ version }) => version)).toEqual([1, 1]);
    const repeated = await fixture.json("flows", "pull", dir);
    expect(new Set(repeated.files.map(({ outcome }: { outcome: string }) => outcome))).toEqual(
      new Set(["unchanged"]),
    );
  });

  it("update flows by id, create new flows, restore deleted flows, and keep file names", async () => {
    const fixture = await createFixture();
    await fixture.json(
      "import-flows",
      writeTempFile({ ...greeting, id: "hello" }),
      "--app",
      "desk",
    );
    const dir = join(tempFolder(), "flows");
    await fixture.run("flows", "pull", dir);
    const file = join(dir, "desk", "greeting.json");
    const content = JSON.parse(readFileSync(file, "utf8"));
    writeFileSync(file, JSON.stringify({ ...content, name: "Renamed" }));
    mkdirSync(join(dir, "shop"));
    writeFileSync(join(dir, "shop", "new.json"), JSON.stringify({ ...greeting, name: "By hand" }));
    const pushed = await fixture.run("flows", "push", dir);
    expect(pushed.code).toBe(0);
    expect(pushed.stdout).toMatch(/desk \/ Renamed: replaced/);
    expect(pushed.stdout).toMatch(/shop \/ By hand: created/);
    await fixture.run("flows", "pull", dir);
    expect(readdirSync(join(dir, "desk")).toSorted()).toEqual(["app.json", "greeting.json"]);
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ id: "hello", name: "Renamed" });
    // `new.json` has no id, so `pull` writes a second file for its flow.
    expect(readdirSync(join(dir, "shop")).toSorted()).toEqual([
      "app.json",
      "by_hand.json",
      "new.json",
    ]);
    rmSync(join(dir, "shop", "new.json"));

    await fixture.withStore((store) => store.deleteFlow({ tenant: "local", id: "hello" }, 0));
    const restored = await fixture.json("flows", "push", dir, "--app", "desk");
    expect(restored.apps).toHaveLength(1);
    expect(outcomesOf(restored.apps[0])).toEqual(["Renamed created"]);
    expect(await listFlows(fixture, "desk")).toMatchObject([{ id: "hello", name: "Renamed" }]);
  });

  it("mark a flow with ✗ if --publish is given and the flow cannot be published", async () => {
    const fixture = await createFixture();
    const dir = tempFolder();
    mkdirSync(join(dir, "desk"));
    const broken = { name: "Broken", nodes: [node("n", "Nonsense")], edges: [] };
    writeFileSync(join(dir, "desk", "good.json"), JSON.stringify(greeting));
    writeFileSync(join(dir, "desk", "broken.json"), JSON.stringify(broken));
    const { code, stdout } = await fixture.run("flows", "push", dir, "--publish");
    expect(code).toBe(1);
    expect(stdout).toMatch(
      /^✗ desk \/ Broken: created .*\n(?: +warning: .*\n)* +not published: .*Nonsense/m,
    );
    expect(stdout).toMatch(/^✓ desk \/ Greeting: created, published as version 1/m);
    expect(stdout.match(/✓/g)).toHaveLength(1);
  });

  it("reject an id that belongs to a flow of another app", async () => {
    const fixture = await createFixture();
    await fixture.json(
      "import-flows",
      writeTempFile({ ...greeting, id: "hello" }),
      "--app",
      "desk",
    );
    const dir = tempFolder();
    mkdirSync(join(dir, "shop"));
    writeFileSync(join(dir, "shop", "a.json"), JSON.stringify({ ...greeting, id: "hello" }));
    const { code, stdout } = await fixture.run("flows", "push", dir);
    expect([code, stdout]).toEqual([1, expect.stringMatching(/✗ shop: .*The id hello belongs to/)]);
  });

  it("report missing arguments, folders and flows", async () => {
    const fixture = await createFixture();
    const dir = tempFolder();
    const file = join(tempFolder(), "flow.json");
    writeFileSync(file, "{}");
    const notAFolder =
      /flow\.json is not a folder\. .*`npx signalbox import-flows FILE --app SLUG`/;
    const invalid: [string[], number, RegExp][] = [
      [[], 2, /pull DIR, or push DIR/],
      [["fetch", dir], 2, /pull DIR, or push DIR/],
      [["pull"], 2, /Missing argument DIR/],
      [["push", join(dir, "none")], 2, /does not exist/],
      [["push", file], 2, notAFolder],
      [["pull", file], 2, /flow\.json is not a folder/],
    ];
    for (const [args, code, message] of invalid) {
      const result = await fixture.run("flows", ...args);
      expect([result.code, result.stderr], args.join(" ")).toEqual([
        code,
        expect.stringMatching(message),
      ]);
    }
    const env = { SIGNALBOX_DATA: tempFolder() };
    const noDatabase = await runCli(["flows", "pull", dir], { env });
    expect([noDatabase.code, noDatabase.stderr]).toEqual([
      1,
      expect.stringMatching(/No database at/),
    ]);
    expect((await fixture.run("flows", "push", dir)).stdout).toMatch(/No flows found in/);
    expect((await fixture.run("flows", "pull", dir)).stdout).toMatch(/No flows found\./);
    expect((await fixture.run("flows", "pull", dir, "--app", "none")).stderr).toMatch(
      /app none does not exist/,
    );
    mkdirSync(join(dir, "desk"));
    writeFileSync(join(dir, "desk", "a.json"), "[]");
    expect((await fixture.run("flows", "push", dir)).stderr).toMatch(
      /a\.json: must contain a JSON object/,
    );
    expect(existsSync(join(dir, "desk", "app.json"))).toBe(false);
    for (const command of ["flows", "import-flows"]) {
      const { code, stdout } = await fixture.run(command, "--help");
      expect([code, stdout]).toEqual([0, expect.stringMatching(/^Usage: signalbox .*--json/s)]);
    }
  });
});
