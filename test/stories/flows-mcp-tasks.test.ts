/** A long tool call is a task in both protocol versions, and survives a restart of the hub. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client as Sdk1Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport as Sdk1Transport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CallToolResultSchema, CreateTaskResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { afterAll, beforeAll, describe, expect, inject, it, onTestFinished } from "vitest";
import { clients, connectNewestVersion } from "../support/app-clients.ts";
import { SECRET } from "../support/deliver.ts";
import { createFlowMaker, intent, returns, waits } from "../support/flow-maker.ts";
import { type Host, hosts, startOn } from "../support/hosts.ts";
import type { HubProcess } from "../support/hub-process.ts";
import { createMigratedDatabase } from "../support/postgres.ts";
import { callAsTask, rpc } from "../support/task-client.ts";
import { tempFolder } from "../support/temp-folder.ts";

const TOKEN = "sbx_task_story_token";
const ENV = { SIGNALBOX_TOKEN: TOKEN, GITHUB_WEBHOOK_SECRET: SECRET };

let hub: HubProcess;
let sharedMaker: ReturnType<typeof createFlowMaker>;

/** Starts one hub for all tests of a host. */
function useHub(host: Host): void {
  const data = mkdtempSync(join(tmpdir(), "signalbox-tasks-"));
  beforeAll(async () => {
    hub = await startOn(host, { data, env: ENV });
    sharedMaker = createFlowMaker(hub.url, TOKEN);
  });
  afterAll(async () => {
    await hub.stop();
    rmSync(data, { recursive: true, force: true });
  });
}

let appCount = 0;
/** Creates an app, and returns its slug and its URL. */
async function createApp(): Promise<{ app: string; url: string }> {
  const app = `app-${++appCount}`;
  const { mcp_path } = await sharedMaker.app(app);
  return { app, url: `${hub.url}${mcp_path}` };
}

async function connectSdk1(url: string, token = TOKEN): Promise<Sdk1Client> {
  const client = new Sdk1Client({ name: "story", version: "1" }, { capabilities: { tasks: {} } });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  await client.connect(new Sdk1Transport(new URL(url), { requestInit }) as never);
  onTestFinished(() => client.close());
  return client;
}

/** Creates an app with the tool `go`, whose runs wait for this many seconds. */
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
  const runStatus = async () => (await maker.listRuns("slow")).items[0]?.status;
  return { ...maker, flowId: flow.id, runStatus };
}

describe.each(hosts)("on %s", (host) => {
  useHub(host);

  describe("a task", () => {
    const publishSlowFlow = (app: string) =>
      sharedMaker.flow(
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

    it("is created only for a long call of a 2026-07-28 client with task support, and belongs to one token", async () => {
      const { app, url } = await createApp();
      const flow = await publishSlowFlow(app);
      expect(await callAsTask(url, TOKEN, "go", { seconds: 0 })).toMatchObject({
        resultType: "complete",
        structuredContent: { waited: 0 },
      });
      expect(
        await rpc(url, TOKEN, "tools/call", { name: "go", arguments: { seconds: 1 } }, {}),
      ).toMatchObject({ resultType: "complete", structuredContent: { waited: 1 } });

      const created = await callAsTask(url, TOKEN, "go", { seconds: 1 });
      expect(created).toMatchObject({
        resultType: "task",
        status: "working",
        pollIntervalMs: 1_000,
      });
      const { taskId } = created;
      const get = () => rpc(url, TOKEN, "tasks/get", { taskId });
      await expect
        .poll(get)
        .toMatchObject({ status: "completed", result: { structuredContent: { waited: 1 } } });
      expect(await rpc(url, TOKEN, "tasks/cancel", { taskId })).not.toHaveProperty("status");
      expect(await get()).toMatchObject({ status: "completed" });

      const { taskId: longTaskId } = await callAsTask(url, TOKEN, "go", { seconds: 3_600 });
      await rpc(url, TOKEN, "tasks/cancel", { taskId: longTaskId });
      expect(await rpc(url, TOKEN, "tasks/get", { taskId: longTaskId })).toMatchObject({
        status: "cancelled",
      });
      await expect(rpc(url, TOKEN, "tasks/get", { taskId }, {})).rejects.toMatchObject({
        code: -32021,
      });
      for (const method of ["tasks/list", "tasks/result"])
        await expect(rpc(url, TOKEN, method, { taskId })).rejects.toMatchObject({ code: -32601 });
      // A task of one app is unknown in another, and a run without a tool call is not a task.
      const otherApp = await createApp();
      await expect(rpc(otherApp.url, TOKEN, "tasks/get", { taskId })).rejects.toThrow("no task");
      const { id } = await sharedMaker.call<{ id: string }>("POST", `/api/flows/${flow.id}/runs`, {
        trigger: "go",
        input: { seconds: 0 },
      });
      await expect(rpc(url, TOKEN, "tasks/get", { taskId: id })).rejects.toThrow("no task");
      // Another token cannot read or cancel the task, although it may call the tool.
      const { token } = await sharedMaker.call<{ token: string }>("POST", "/api/tokens", {
        name: "another",
        scopes: ["admin"],
      });
      const { taskId: ownTaskId } = await callAsTask(url, TOKEN, "go", { seconds: 3_600 });
      for (const method of ["tasks/get", "tasks/cancel", "tasks/update"])
        await expect(rpc(url, token, method, { taskId: ownTaskId })).rejects.toThrow(
          `There is no task ${ownTaskId}.`,
        );
      expect(await rpc(url, TOKEN, "tasks/get", { taskId: ownTaskId })).toMatchObject({
        status: "working",
      });
      await rpc(url, TOKEN, "tasks/cancel", { taskId: ownTaskId });
      await expect(rpc(url, TOKEN, "tasks/get", { taskId: "none" })).rejects.toMatchObject({
        code: -32602,
        message: "There is no task none.",
      });
    });

    it("is created for a 2025-11-25 client that requests one", async () => {
      const { app, url } = await createApp();
      await publishSlowFlow(app);
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
      const pendingResult = client.experimental.tasks.getTaskResult(
        task.taskId,
        CallToolResultSchema,
      );
      expect(await client.experimental.tasks.getTask(task.taskId)).toMatchObject({
        status: "working",
      });
      expect(await client.experimental.tasks.cancelTask(task.taskId)).toMatchObject({
        status: "cancelled",
      });
      expect(await pendingResult).toMatchObject({ isError: true });
      await expect(client.experimental.tasks.cancelTask(task.taskId)).rejects.toMatchObject({
        code: -32602,
        message: expect.stringContaining("The task is already cancelled."),
      });
      const { tasks } = await client.experimental.tasks.listTasks();
      expect(tasks.map(({ status }) => status)).toEqual(["cancelled", "completed"]);
      const { token } = await sharedMaker.call<{ token: string }>("POST", "/api/tokens", {
        name: "another",
        scopes: ["flows:call"],
      });
      const otherClient = await connectSdk1(url, token);
      expect((await otherClient.experimental.tasks.listTasks()).tasks).toEqual([]);
      await expect(
        otherClient.experimental.tasks.getTaskResult(task.taskId, CallToolResultSchema),
      ).rejects.toThrow("There is no task");
    });

    it("completes even if the hub is killed and restarted while the run waits", async () => {
      const data = tempFolder();
      const env = { ...ENV, SIGNALBOX_RUN_LEASE: "1" };
      const before = await startOn(host, { data, env });
      const { runStatus } = await createSlowApp(before.url, 6);
      const { taskId } = await callAsTask(`${before.url}/mcp/slow`, TOKEN, "go");
      await expect.poll(runStatus).toBe("waiting");
      await before.stop("SIGKILL");

      const after = await startOn(host, { data, env });
      onTestFinished(async () => void (await after.stop()));
      await expect
        .poll(() => rpc(`${after.url}/mcp/slow`, TOKEN, "tasks/get", { taskId }))
        .toMatchObject({ status: "completed", result: { structuredContent: { done: true } } });
    });
  });

  describe.each(clients)("a call by a client (%s)", (_, connect) => {
    it("is not cancelled when the hub stops, and its run continues after the restart", async () => {
      const data = tempFolder();
      const before = await startOn(host, { data, env: ENV });
      const { runStatus } = await createSlowApp(before.url, 3_600);
      const client = await connect(`${before.url}/mcp/slow`, TOKEN);
      const call = client.call("go").catch(() => {});
      await expect.poll(runStatus).toBe("waiting");
      await before.stop();
      await client.close();
      await call;
      const after = await startOn(host, { data, env: ENV });
      onTestFinished(async () => void (await after.stop()));
      const { listRuns } = createFlowMaker(after.url, TOKEN);
      expect((await listRuns("slow")).items).toMatchObject([{ status: "waiting" }]);
    });
  });
});

it("replicas share apps, tasks, and notifications of changed tools", async () => {
  const env = {
    SIGNALBOX_TOKEN: TOKEN,
    DATABASE_URL: await createMigratedDatabase(inject("postgresUrl")),
  };
  const [first, second] = await Promise.all(
    [1, 2].map(() => startOn("Node", { data: tempFolder(), env })),
  );
  if (!first || !second) throw new Error("not started");
  onTestFinished(async () => void (await Promise.all([first.stop(), second.stop()])));
  const maker = await createSlowApp(first.url, 3_600);
  const url = `${second.url}/mcp/slow`;
  const client = await connectNewestVersion(url, TOKEN);
  expect(await client.tools()).toHaveLength(1);
  const countChanges = await client.listen();
  await maker.changeNode(maker.flowId, "go", { name: "Proceed" });
  await maker.publish(maker.flowId);
  await expect.poll(countChanges).toBe(1);
  expect(await client.tools()).toMatchObject([{ name: "proceed" }]);

  const { taskId } = await callAsTask(`${first.url}/mcp/slow`, TOKEN, "proceed");
  expect(await rpc(url, TOKEN, "tasks/get", { taskId })).toMatchObject({ status: "working" });
  await rpc(url, TOKEN, "tasks/cancel", { taskId });
  await expect.poll(maker.runStatus).toBe("cancelled");
  expect(await rpc(`${first.url}/mcp/slow`, TOKEN, "tasks/get", { taskId })).toMatchObject({
    status: "cancelled",
  });
});
