/** Flows of a legacy system run after the migration: in the hub's database, and with `import-flows`. */

import { readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import {
  createLegacyDatabase,
  type LegacyForm,
  LONG_NAME,
  LONG_TOOL,
  legacyApps,
  legacyFlows,
} from "../fixtures/legacy-database.ts";
import { ADMIN } from "../support/api-client.ts";
import { newest } from "../support/app-clients.ts";
import { type HubProcess, runCli, startHubProcess } from "../support/hub-process.ts";
import { tempFolder } from "../support/temp-folder.ts";

const FORMS: LegacyForm[] = ["flow tools", "trigger tools"];

/** The server that the flows call. */
async function startServer(): Promise<string> {
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

async function start(data: string): Promise<HubProcess> {
  const hub = await startHubProcess({ data, env: envOf(data) });
  onTestFinished(async () => void (await hub.stop("SIGKILL")));
  return hub;
}

// biome-ignore lint/suspicious/noExplicitAny: the tests read responses of every shape
async function call(hub: HubProcess, path: string, body?: unknown): Promise<any> {
  const response = await fetch(`${hub.url}/api/${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { authorization: `Bearer ${ADMIN}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return response.json();
}

interface Expected {
  trigger?: string;
  input?: object;
  output: unknown;
}

/** By flow: what a run returns. */
const RESULTS: Record<string, Expected> = {
  hello: { output: "Hello, world!" },
  // The optional argument is empty.
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
  "no-intent": { trigger: "migrated", output: "Fine in Bern" },
  order: { output: "An order" },
  "order-copy": { output: "A copy" },
  "long-tool": { output: "Long" },
  "long-name": { trigger: "migrated", output: "Long name" },
  several: { output: "From the first" },
};
/** Flows of the later form without a UserIntent are no tools: they are published, but cannot start. */
const withTrigger = (form: LegacyForm) =>
  Object.entries(RESULTS).filter(
    ([, { trigger }]) => form === "flow tools" || trigger === undefined,
  );

async function expectResults(hub: HubProcess, form: LegacyForm): Promise<void> {
  for (const [id, { input = {}, output }] of withTrigger(form)) {
    const flow = await call(hub, `flows/${id}`);
    expect(flow, id).toMatchObject({ version: 1, errors: [] });
    const trigger = flow.nodes.find(({ type }: { type: string }) => type === "UserIntent").id;
    const run = await call(hub, `flows/${id}/runs?wait=1`, { trigger, input });
    expect([id, run.error, run.output]).toEqual([id, null, output]);
  }
}

const toolsOf = async (hub: HubProcess, app: string) =>
  (await (await newest(`${hub.url}/mcp/${app}`, ADMIN)).tools()).map(({ name }) => name);

describe.each(FORMS)("a database with %s", (form) => {
  it("is migrated when the hub starts; every flow with an equivalent runs", async () => {
    const data = tempFolder();
    createLegacyDatabase(join(data, "signalbox.db"), form, await startServer());
    const hub = await start(data);
    await expectResults(hub, form);

    const several = await call(hub, "flows/several/runs?wait=1", { trigger: "u2", input: {} });
    expect(several.output).toBe("From the second");
    const unconnected = await call(hub, "flows/unconnected");
    expect(unconnected).toMatchObject({
      version: 1,
      warnings: [{ nodeId: "u1" }, { nodeId: "r1" }],
    });
    const nowhere = await call(hub, "flows/unconnected/runs?wait=1", { trigger: "u1", input: {} });
    expect(nowhere.error.message).toMatch(/is not connected to any nodes/);
    // Types without an equivalent stay as they are, and are reported by name and reason.
    for (const [id, name, type] of [
      ["interface", "Table", "Interface"],
      ["stat", "Count", "StatCard"],
    ]) {
      const flow = await call(hub, `flows/${id}`);
      expect(flow).toMatchObject({ version: null, nodes: [{}, { type }] });
      expect(flow.errors.map(({ message }: { message: string }) => message)).toEqual([
        `${name}: unknown node type ${type}`,
      ]);
      expect(hub.output()).toContain(`not published: The flow cannot run yet: ${name}: unknown`);
    }
    expect(await call(hub, "flows/long-name")).toMatchObject({ name: LONG_NAME });

    const weather = ["getWeatherData", "greet", "introduce", "names", "relay", "say_hello"];
    const shop = [LONG_TOOL, "get_order", "get_order_2", "second", "several", "unconnected"];
    const created = form === "flow tools" ? ["no_intent", "long_name"] : [];
    expect(await toolsOf(hub, "weather-desk")).toEqual(
      [...weather, ...created.slice(0, 1)].toSorted(),
    );
    expect(await toolsOf(hub, "shop")).toEqual([...shop, ...created.slice(1)].toSorted());

    // A second start changes nothing, and the rows are still there.
    const listOf = (from: HubProcess) =>
      Promise.all(["weather-desk", "shop"].map((app) => call(from, `apps/${app}/flows?limit=100`)));
    const flows = await listOf(hub);
    expect(flows.map(({ items }) => items.length)).toEqual([8, 8]);
    await hub.stop();
    const again = await start(data);
    expect(await listOf(again)).toEqual(flows);
    await again.stop();
    const db = new DatabaseSync(join(data, "signalbox.db"), { readOnly: true });
    const count = (table: string) => db.prepare(`SELECT count(*) AS n FROM ${table}`).get();
    expect(count("migrated_flows")).toEqual({ n: 16 });
    expect(count("older_apps")).toEqual({ n: 2 });
    expect(count("flow_executions WHERE flowId = 'hello'")).toEqual({ n: 1 });
    db.close();
  });

  it("is imported by import-flows, as a database or as JSON, with the same results", async () => {
    const origin = await startServer();
    const folder = tempFolder();
    const database = join(folder, "legacy.sqlite");
    createLegacyDatabase(database, form, origin);
    const json = join(folder, "legacy.json");
    writeFileSync(json, JSON.stringify({ apps: legacyApps(), flows: legacyFlows(form, origin) }));
    for (const file of [database, json]) {
      const data = tempFolder();
      const first = await start(data);
      await first.stop();
      const { stdout, stderr } = await runCli(["import-flows", file, "--publish"], {
        env: envOf(data),
      });
      expect(stderr).toBe("");
      for (const type of ["Interface", "StatCard"])
        expect(stdout).toMatch(new RegExp(`not published: .*unknown node type ${type}`));
      expect(stdout.match(/not published/g)).toHaveLength(2);
      await expectResults(await start(data), form);
    }
  });
});

it("import-flows imports the apps of a database whatever their slugs are; an invalid app fails alone", async () => {
  const data = tempFolder();
  await (await start(data)).stop();
  const file = join(tempFolder(), "apps.db");
  const db = new DatabaseSync(file);
  db.exec("CREATE TABLE apps (id TEXT, slug TEXT, name TEXT)");
  db.exec("CREATE TABLE flows (id TEXT, appId TEXT, name TEXT, toolName TEXT, nodes TEXT)");
  const apps = [["shop"], ["Shop!"], ["日本"], ["größe"], ["long", "x".repeat(9_000)]];
  for (const [nth, [slug = "", name = slug]] of apps.entries()) {
    db.prepare("INSERT INTO apps VALUES (?, ?, ?)").run(`a${nth}`, slug, name);
    const nodes = '[{"id":"r","type":"Return","name":"End"}]';
    const insert = db.prepare("INSERT INTO flows VALUES (?, ?, 'Go', 'go', ?)");
    insert.run(`f${nth}`, `a${nth}`, nodes);
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
  await (await start(data)).stop();
  const folder = tempFolder();
  const whole = join(folder, "whole.db");
  createLegacyDatabase(whole, "flow tools", "http://localhost");
  const bytes = readFileSync(whole);
  const cut = join(folder, "cut.db");
  writeFileSync(cut, bytes.subarray(0, 5_000));
  const header = join(folder, "header.db");
  writeFileSync(header, bytes.subarray(0, 16));
  const noise = join(folder, "noise.db");
  writeFileSync(noise, Buffer.concat([bytes.subarray(0, 100), Buffer.alloc(bytes.length, 0xa5)]));
  for (const path of [cut, header, noise]) {
    const { code, stdout, stderr } = await runCli(["import-flows", path], { env: envOf(data) });
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(`${path} cannot be read as an SQLite database:`);
    expect(stderr).not.toMatch(/\n\s+at /);
  }
});

it("import-flows rejects a database without legacy flows", async () => {
  const data = tempFolder();
  const hub = await start(data);
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

it("a hub rejects the database of another program by name", async () => {
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
