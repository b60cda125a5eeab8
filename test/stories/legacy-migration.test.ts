/**
 * A hub migrates legacy flows when it starts with a legacy database. `import-flows` migrates them from
 * a file.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  createLegacyDatabase,
  type LegacyForm,
  LONG_NAME,
  LONG_TOOL,
  legacyApps,
  legacyFlows,
} from "../fixtures/legacy-database.ts";
import { ADMIN } from "../support/api-client.ts";
import { connectNewestVersion } from "../support/app-clients.ts";
import { type HubProcess, runCli, startHubProcess } from "../support/hub-process.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { WAIT } from "../support/timeouts.ts";

const FORMS: LegacyForm[] = ["flow tools", "trigger tools"];

/** Starts the server that the flows call. Returns its origin. */
async function startCalledServer(): Promise<string> {
  const server = createServer((request, response) => {
    const url = new URL(request.url ?? "", "http://x");
    response.setHeader("content-type", "application/json");
    response.end(
      JSON.stringify({
        method: request.method,
        text: `Fine in ${url.searchParams.get("city")}`,
        header: request.headers["x-city"],
        people: [{ "first name": "Ada" }, { "first name": "Grace" }],
      }),
    );
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const envOf = (data: string) => ({
  SIGNALBOX_DATA: data,
  SIGNALBOX_TOKEN: ADMIN,
  SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1",
});

async function startHub(data: string): Promise<HubProcess> {
  const hub = await startHubProcess({ data, env: envOf(data) });
  onTestFinished(async () => void (await hub.stop("SIGKILL")));
  return hub;
}

// biome-ignore lint/suspicious/noExplicitAny: the tests read responses of every shape
async function callApi(hub: HubProcess, path: string, body?: unknown): Promise<any> {
  const response = await fetch(`${hub.url}/api/${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${ADMIN}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return response.json();
}

interface ExpectedRun {
  /** The legacy flow has no `UserIntent`. The migration creates one if the flow itself is a tool. */
  isWithoutIntent?: boolean;
  input?: object;
  output: unknown;
}

/** By flow id. */
const EXPECTED_RUNS: Record<string, ExpectedRun> = {
  hello: { output: "Hello, world!" },
  // Without an argument, the optional parameter `title` is empty.
  greet: { input: { who: "Ada" }, output: "Hello Ada!" },
  weather: { input: { city: "Bern" }, output: "Fine in Bern (200, Bern)" },
  post: {
    output: expect.objectContaining({
      status: 200,
      body: expect.objectContaining({ method: "POST" }),
    }),
  },
  names: { output: "Ada and 2 in all" },
  introduce: { input: { person: "Grace" }, output: "Hello Grace!" },
  relay: { output: "They said: Hello, world!" },
  "no-intent": { isWithoutIntent: true, output: "Fine in Bern" },
  order: { output: "An order" },
  "order-copy": { output: "A copy" },
  "long-tool": { output: "Long" },
  "long-name": { isWithoutIntent: true, output: "Long name" },
  several: { output: "From the first" },
};
/** In the form "trigger tools", a flow without a `UserIntent` is published, but it cannot start. */
const runsThatCanStart = (form: LegacyForm) =>
  Object.entries(EXPECTED_RUNS).filter(
    ([, { isWithoutIntent }]) => form === "flow tools" || !isWithoutIntent,
  );

async function expectOutputs(hub: HubProcess, form: LegacyForm): Promise<void> {
  for (const [id, { input = {}, output }] of runsThatCanStart(form)) {
    const flow = await callApi(hub, `flows/${id}`);
    expect(flow, id).toMatchObject({ version: 1, errors: [] });
    const trigger = flow.nodes.find(({ type }: { type: string }) => type === "UserIntent").id;
    const run = await callApi(hub, `flows/${id}/runs?wait=1`, { trigger, input });
    expect([id, run.error, run.output]).toEqual([id, null, output]);
  }
}

const toolNamesOf = async (hub: HubProcess, app: string) =>
  (await (await connectNewestVersion(`${hub.url}/mcp/${app}`, ADMIN)).tools()).map(
    ({ name }) => name,
  );

describe.each(FORMS)("a legacy database with %s", (form) => {
  it("is migrated when the hub starts, and the published flows run", async () => {
    const data = tempFolder();
    createLegacyDatabase(join(data, "signalbox.db"), form, await startCalledServer());
    const hub = await startHub(data);
    await expectOutputs(hub, form);

    const secondIntent = { trigger: "u2", input: {} };
    const several = await callApi(hub, "flows/several/runs?wait=1", secondIntent);
    expect(several.output).toBe("From the second");
    const unconnected = await callApi(hub, "flows/unconnected");
    expect(unconnected).toMatchObject({
      version: 1,
      warnings: [{ nodeId: "u1" }, { nodeId: "r1" }],
    });
    const failedRun = await callApi(hub, "flows/unconnected/runs?wait=1", {
      trigger: "u1",
      input: {},
    });
    expect(failedRun.error.message).toMatch(/is not connected to any nodes/);
    // Flows with a node type that has no equivalent are migrated, but not published. The hub logs why.
    for (const [id, name, type] of [
      ["interface", "Table", "Interface"],
      ["stat", "Count", "StatCard"],
    ]) {
      const flow = await callApi(hub, `flows/${id}`);
      expect(flow).toMatchObject({ version: null, nodes: [{}, { type }] });
      expect(flow.errors.map(({ message }: { message: string }) => message)).toEqual([
        `${name}: unknown node type ${type}`,
      ]);
      const reason = `not published: The flow cannot run yet: ${name}: unknown`;
      await vi.waitFor(() => expect(hub.output()).toContain(reason), WAIT);
    }
    expect(await callApi(hub, "flows/long-name")).toMatchObject({ name: LONG_NAME });

    const weatherTools = ["getWeatherData", "greet", "introduce", "names", "relay", "say_hello"];
    const shopTools = [LONG_TOOL, "get_order", "get_order_2", "second", "several", "unconnected"];
    const createdTools = form === "flow tools" ? ["no_intent", "long_name"] : [];
    expect(await toolNamesOf(hub, "weather-desk")).toEqual(
      [...weatherTools, ...createdTools.slice(0, 1)].toSorted(),
    );
    expect(await toolNamesOf(hub, "shop")).toEqual(
      [...shopTools, ...createdTools.slice(1)].toSorted(),
    );

    // A second start changes no flow, and the legacy rows are kept.
    const listFlows = (target: HubProcess) =>
      Promise.all(
        ["weather-desk", "shop"].map((app) => callApi(target, `apps/${app}/flows?limit=100`)),
      );
    const flows = await listFlows(hub);
    expect(flows.map(({ items }) => items.length)).toEqual([8, 8]);
    await hub.stop();
    const restarted = await startHub(data);
    expect(await listFlows(restarted)).toEqual(flows);
    await restarted.stop();
    const db = new DatabaseSync(join(data, "signalbox.db"), { readOnly: true });
    const count = (table: string) => db.prepare(`SELECT count(*) AS n FROM ${table}`).get();
    expect(count("migrated_flows")).toEqual({ n: 16 });
    expect(count("older_apps")).toEqual({ n: 2 });
    expect(count("flow_executions WHERE flowId = 'hello'")).toEqual({ n: 1 });
    db.close();
  });

  it("is imported by import-flows, as a database or as JSON, with the same results", async () => {
    const origin = await startCalledServer();
    const folder = tempFolder();
    const database = join(folder, "legacy.sqlite");
    createLegacyDatabase(database, form, origin);
    const json = join(folder, "legacy.json");
    writeFileSync(json, JSON.stringify({ apps: legacyApps(), flows: legacyFlows(form, origin) }));
    for (const file of [database, json]) {
      const data = tempFolder();
      await (await startHub(data)).stop();
      const { stdout, stderr } = await runCli(["import-flows", file, "--publish"], {
        env: envOf(data),
      });
      expect(stderr).toBe("");
      for (const type of ["Interface", "StatCard"])
        expect(stdout).toMatch(new RegExp(`not published: .*unknown node type ${type}`));
      expect(stdout.match(/not published/g)).toHaveLength(2);
      await expectOutputs(await startHub(data), form);
    }
  });
});

it("import-flows replaces duplicate and invalid slugs of apps, and skips only an app with an invalid name", async () => {
  const data = tempFolder();
  await (await startHub(data)).stop();
  const file = join(tempFolder(), "apps.db");
  const db = new DatabaseSync(file);
  db.exec("CREATE TABLE apps (id TEXT, slug TEXT, name TEXT)");
  db.exec("CREATE TABLE flows (id TEXT, appId TEXT, name TEXT, toolName TEXT, nodes TEXT)");
  const apps = [["shop"], ["Shop!"], ["日本"], ["größe"], ["long", "x".repeat(9_000)]];
  for (const [index, [slug = "", name = slug]] of apps.entries()) {
    db.prepare("INSERT INTO apps VALUES (?, ?, ?)").run(`a${index}`, slug, name);
    const nodes = '[{"id":"r","type":"Return","name":"End"}]';
    const insert = db.prepare("INSERT INTO flows VALUES (?, ?, 'Go', 'go', ?)");
    insert.run(`f${index}`, `a${index}`, nodes);
  }
  db.close();
  const { code, stdout, stderr } = await runCli(["import-flows", file], { env: envOf(data) });
  expect([code, stderr]).toEqual([1, ""]);
  for (const app of ["shop", "shop-2", "app", "grosse"])
    expect(stdout).toContain(`✓ ${app} / Go: created`);
  expect(stdout).toContain("✗ long: nothing was stored. app.name:");
  expect(stdout).toContain('! app: app.slug: "日本" is not a valid slug; it is now app.');
});

it("import-flows rejects a damaged database", async () => {
  const data = tempFolder();
  await (await startHub(data)).stop();
  const folder = tempFolder();
  const intact = join(folder, "intact.db");
  createLegacyDatabase(intact, "flow tools", "http://localhost");
  const bytes = readFileSync(intact);
  const truncated = join(folder, "truncated.db");
  writeFileSync(truncated, bytes.subarray(0, 5_000));
  const headerOnly = join(folder, "header.db");
  writeFileSync(headerOnly, bytes.subarray(0, 16));
  const garbage = join(folder, "garbage.db");
  writeFileSync(garbage, Buffer.concat([bytes.subarray(0, 100), Buffer.alloc(bytes.length, 0xa5)]));
  for (const path of [truncated, headerOnly, garbage]) {
    const { code, stdout, stderr } = await runCli(["import-flows", path], { env: envOf(data) });
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(`${path} cannot be read as an SQLite database:`);
    expect(stderr).not.toMatch(/\n\s+at /);
  }
});

it("import-flows rejects the database of another program and of a hub", async () => {
  const data = tempFolder();
  const hub = await startHub(data);
  await hub.stop();
  const file = join(tempFolder(), "other.db");
  const db = new DatabaseSync(file);
  db.exec("CREATE TABLE flows (id TEXT, steps TEXT)");
  db.close();
  for (const [path, message] of [
    [file, /other\.db has no table "flows" of a legacy system/],
    [join(data, "signalbox.db"), /is the database of a hub, .*`npx signalbox flows pull DIR`/],
  ] as const) {
    const { code, stderr } = await runCli(["import-flows", path], { env: envOf(data) });
    expect([code, stderr]).toEqual([2, expect.stringMatching(message)]);
  }
});

it("a hub does not start with the database of another program, and names the file in the error", async () => {
  const data = tempFolder();
  const db = new DatabaseSync(join(data, "signalbox.db"));
  db.exec("CREATE TABLE flows (id TEXT, steps TEXT)");
  db.close();
  const { code, stderr } = await runCli(["serve"], { env: { ...envOf(data), PORT: "0" } });
  expect([code, stderr]).toEqual([
    expect.any(Number),
    expect.stringMatching(/signalbox\.db belongs to another program: it has a table flows/),
  ]);
});
