/** A long tool call is a task in both protocol versions, and survives a restart of the hub. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client as Sdk1Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Sdk1Transport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, CreateTaskResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { clients, newest } from "../support/app-clients.ts";
import { SECRET } from "../support/deliver.ts";
import { createFlowMaker, intent, returns, waits } from "../support/flow-maker.ts";
import { type Host, hosts, startOn } from "../support/hosts.ts";
import type { HubProcess } from "../support/hub-process.ts";
import { createMigratedDatabase } from "../support/postgres.ts";
import { callAsTask, rpc } from "../support/task-client.ts";
import { tempFolder } from "../support/temp-folder.ts";

const TOKEN = "sbx_of_the_story_of_tasks";
const ENV = { SIGNALBOX_TOKEN: TOKEN, GITHUB_WEBHOOK_SECRET: SECRET };

let hub: HubProcess;
let make: ReturnType<typeof createFlowMaker>;

/** Starts one hub for all tests of a host. */
function useHub(host: Host): void {
  const data = mkdtempSync(join(tmpdir(), "signalbox-tasks-"));
  beforeAll(async () => {
    hub = await startOn(host, { data, env: ENV });
    make = createFlowMaker(hub.url, TOKEN);
  });
  afterAll(async () => {
    await hub.stop();
    rmSync(data, { recursive: true, force: true });
  });
}

let apps = 0;
async function newApp(): Promise<{ app: string; url: string }> {
  const app = `app-${++apps}`;
  const { mcp_path } = await make.app(app);
  return { app, url: `${hub.url}${mcp_path}` };
}

async function connectSdk1(url: string, token = TOKEN): Promise<Sdk1Client> {
  const client = new Sdk1Client({ name: "story", version: "1" }, { capabilities: { tasks: {} } });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new Sdk1Transport(new URL(url), { requestInit }) as never);
  onTestFinished(() => client.close());
  return client;
}

/** Creates an app with one tool, which waits. */
async function createSlowApp(url: string, seconds: number) {
  const maker = createFlowMaker(url, TOKEN);
  await maker.app("slow");
  const flow = await maker.flow(
    "slow",
    "Slow",
    [intent("go", "Go"), waits("wait", seconds), returns("end", { done: true })],
    [
      ["go", "wait"],
      ["wait", "end"],
    ],
  );
  const status = async () => (await maker.runs("slow")).items[0]?.status;
  return { ...maker, flow: flow.id, status };
}

describe.each(hosts)("on %s", (host) => {
  useHub(host);

  describe("a task", () => {
    const slow = (app: string) =>
      make.flow(
        app,
        "Slow",
        [
          intent("go", "Go", [{ name: "seconds", type: "number" }]),
          waits("wait", "{{ trigger.seconds }}"),
          returns("end", { waited: "{{ trigger.seconds }}" }),
        ],
        [
          ["go", "wait"],
          ["wait", "end"],
        ],
      );

    it("is created only for a long call of a 2026-07-28 client with task support", async () => {
      const { app, url } = await newApp();
      const flow = await slow(app);
      expect(await callAsTask(url, TOKEN, "go", { seconds: 0 })).toMatchObject({
        resultType: "complete",
        structuredContent: { waited: 0 },
      });
      expect(
        await rpc(url, TOKEN, "tools/call", { name: "go", arguments: { seconds: 1 } }, {}),
      ).toMatchObject({ resultType: "complete", structuredContent: { waited: 1 } });

      const made = await callAsTask(url, TOKEN, "go", { seconds: 1 });
      expect(made).toMatchObject({ resultType: "task", status: "working", pollIntervalMs: 1_000 });
      const { taskId } = made;
      const get = () => rpc(url, TOKEN, "tasks/get", { taskId });
      await expect
        .poll(get)
        .toMatchObject({ status: "completed", result: { structuredContent: { waited: 1 } } });
      expect(await rpc(url, TOKEN, "tasks/cancel", { taskId })).not.toHaveProperty("status");
      expect(await get()).toMatchObject({ status: "completed" });

      const { taskId: long } = await callAsTask(url, TOKEN, "go", { seconds: 3_600 });
      await rpc(url, TOKEN, "tasks/cancel", { taskId: long });
      expect(await rpc(url, TOKEN, "tasks/get", { taskId: long })).toMatchObject({
        status: "cancelled",
      });
      await expect(rpc(url, TOKEN, "tasks/get", { taskId }, {})).rejects.toMatchObject({
        code: -32021,
      });
      for (const method of ["tasks/list", "tasks/result"])
        await expect(rpc(url, TOKEN, method, { taskId })).rejects.toMatchObject({ code: -32601 });
      // A task of one app is unknown in another, and a run without a tool call is not a task.
      const other = await newApp();
      await expect(rpc(other.url, TOKEN, "tasks/get", { taskId })).rejects.toThrow("no task");
      const { id } = await make.call<{ id: string }>("POST", `/api/flows/${flow.id}/runs`, {
        trigger: "go",
        input: { seconds: 0 },
      });
      await expect(rpc(url, TOKEN, "tasks/get", { taskId: id })).rejects.toThrow("no task");
      // The task belongs to the token that created it, not to others that may call the tool.
      const { token } = await make.call<{ token: string }>("POST", "/api/tokens", {
        name: "another",
        scopes: ["admin"],
      });
      const { taskId: mine } = await callAsTask(url, TOKEN, "go", { seconds: 3_600 });
      for (const method of ["tasks/get", "tasks/cancel", "tasks/update"])
        await expect(rpc(url, token, method, { taskId: mine })).rejects.toThrow(
          `There is no task ${mine}.`,
        );
      expect(await rpc(url, TOKEN, "tasks/get", { taskId: mine })).toMatchObject({
        status: "working",
      });
      await rpc(url, TOKEN, "tasks/cancel", { taskId: mine });
      await expect(rpc(url, TOKEN, "tasks/get", { taskId: "none" })).rejects.toMatchObject({
        code: -32602,
        message: "There is no task none.",
      });
    });

    it("is created for a 2025-11-25 client that requests one", async () => {
      const { app, url } = await newApp();
      await slow(app);
      const client = await connectSdk1(url);
      expect(client.getServerCapabilities()?.tasks).toEqual({
        list: {},
        cancel: {},
        requests: { tools: { call: {} } },
      });
      await client.listTools();
      const stream = client.experimental.tasks.callToolStream(
        { name: "go", arguments: { seconds: 1 } },
        CallToolResultSchema,
        { task: { ttl: 60_000 } },
      );
      const messages = [];
      for await (const message of stream) messages.push(message);
      expect(messages[0]).toMatchObject({ type: "taskCreated", task: { status: "working" } });
      expect(messages.at(-1)).toMatchObject({
        type: "result",
        result: { structuredContent: { waited: 1 } },
      });

      const { task } = await client.request(
        { method: "tools/call", params: { name: "go", arguments: { seconds: 3_600 }, task: {} } },
        CreateTaskResultSchema,
      );
      const waiting = client.experimental.tasks.getTaskResult(task.taskId, CallToolResultSchema);
      expect(await client.experimental.tasks.getTask(task.taskId)).toMatchObject({
        status: "working",
      });
      expect(await client.experimental.tasks.cancelTask(task.taskId)).toMatchObject({
        status: "cancelled",
      });
      expect(await waiting).toMatchObject({ isError: true });
      await expect(client.experimental.tasks.cancelTask(task.taskId)).rejects.toMatchObject({
        code: -32602,
        message: expect.stringContaining("The task is already cancelled."),
      });
      const { tasks } = await client.experimental.tasks.listTasks();
      expect(tasks.map(({ status }) => status)).toEqual(["cancelled", "completed"]);
      const { token } = await make.call<{ token: string }>("POST", "/api/tokens", {
        name: "another",
        scopes: ["flows:call"],
      });
      const other = await connectSdk1(url, token);
      expect((await other.experimental.tasks.listTasks()).tasks).toEqual([]);
      await expect(
        other.experimental.tasks.getTaskResult(task.taskId, CallToolResultSchema),
      ).rejects.toThrow("There is no task");
    });

    it("completes although the hub is killed and restarted while it waits", async () => {
      const data = tempFolder();
      const env = { ...ENV, SIGNALBOX_RUN_LEASE: "1" };
      const before = await startOn(host, { data, env });
      const maker = createFlowMaker(before.url, TOKEN);
      await maker.app("slow");
      await maker.flow(
        "slow",
        "Slow",
        [intent("go", "Go"), waits("wait", 6), returns("end", { done: true })],
        [
          ["go", "wait"],
          ["wait", "end"],
        ],
      );
      const { taskId } = await callAsTask(`${before.url}/mcp/slow`, TOKEN, "go");
      await expect.poll(async () => (await maker.runs("slow")).items[0]?.status).toBe("waiting");
      await before.stop("SIGKILL");

      const after = await startOn(host, { data, env });
      onTestFinished(async () => void (await after.stop()));
      await expect
        .poll(() => rpc(`${after.url}/mcp/slow`, TOKEN, "tasks/get", { taskId }))
        .toMatchObject({ status: "completed", result: { structuredContent: { done: true } } });
    });
  });

  describe.each(clients)("a call by a client (%s)", (_, connect) => {
    it("is not cancelled when the hub stops: the run continues after the restart", async () => {
      const data = tempFolder();
      const before = await startOn(host, { data, env: ENV });
      const { status } = await createSlowApp(before.url, 3_600);
      const client = await connect(`${before.url}/mcp/slow`, TOKEN);
      const call = client.call("go").catch(() => {});
      await expect.poll(status).toBe("waiting");
      await before.stop();
      await client.close();
      await call;
      const after = await startOn(host, { data, env: ENV });
      onTestFinished(async () => void (await after.stop()));
      const { runs } = createFlowMaker(after.url, TOKEN);
      expect((await runs("slow")).items).toMatchObject([{ status: "waiting" }]);
    });
  });
});

it("replicas share apps, tasks and notifications", async () => {
  const env = {
    SIGNALBOX_TOKEN: TOKEN,
    DATABASE_URL: await createMigratedDatabase(inject("postgresUrl")),
  };
  const [one, other] = await Promise.all(
    [1, 2].map(() => startOn("Node", { data: tempFolder(), env })),
  );
  if (!one || !other) throw new Error("not started");
  onTestFinished(async () => void (await Promise.all([one.stop(), other.stop()])));
  const maker = await createSlowApp(one.url, 3_600);
  const url = `${other.url}/mcp/slow`;
  const client = await newest(url, TOKEN);
  expect(await client.tools()).toHaveLength(1);
  const changes = await client.listen();
  await maker.change(maker.flow, "go", { name: "Proceed" });
  await maker.publish(maker.flow);
  await expect.poll(changes).toBe(1);
  expect(await client.tools()).toMatchObject([{ name: "proceed" }]);

  const { taskId } = await callAsTask(`${one.url}/mcp/slow`, TOKEN, "proceed");
  expect(await rpc(url, TOKEN, "tasks/get", { taskId })).toMatchObject({ status: "working" });
  await rpc(url, TOKEN, "tasks/cancel", { taskId });
  await expect.poll(maker.status).toBe("cancelled");
  expect(await rpc(`${one.url}/mcp/slow`, TOKEN, "tasks/get", { taskId })).toMatchObject({
    status: "cancelled",
  });
});
