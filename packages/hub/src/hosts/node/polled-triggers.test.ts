/** Event triggers on servers without callbacks: a hub polls real MCP servers, and stores each event once. */
import { expect, it, onTestFinished } from "vitest";
import { deliver } from "../../../../../test/support/deliver.ts";
import { edge, node } from "../../../../../test/support/flow-samples.ts";
import { serveSdk2 } from "../../../../../test/support/mcp-servers.ts";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { WAIT } from "../../../../../test/support/timeouts.ts";
import { readSettings } from "../../settings.ts";
import { createLog } from "./log.ts";
import { startHub } from "./start-hub.ts";

const TOKEN = "sbx_of_the_tests";
const TENANT = "local";

async function start(env: Record<string, string> = {}) {
  const hub = await startHub({
    settings: readSettings({
      flags: {},
      env: {
        PORT: "0",
        SIGNALBOX_DATA: tempFolder(),
        SIGNALBOX_TOKEN: TOKEN,
        SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1",
        ...env,
      },
      file: {},
    }),
    log: await createLog({ level: "silent", format: "json" }),
    version: "0.0.0",
  });
  onTestFinished(() => hub.stop());
  const { url, store } = hub;

  // biome-ignore lint/suspicious/noExplicitAny: tests read responses of every shape
  const api = async (method: string, path: string, body?: unknown): Promise<any> => {
    const response = await fetch(`${url}${path}`, {
      method,
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return text === "" ? undefined : JSON.parse(text);
  };

  /** Creates a connection to `server`, and publishes a flow whose trigger has this config. */
  const listen = async (server: Record<string, unknown>, config: Record<string, unknown>) => {
    const { id } = await api("POST", "/api/connections", { name: "Tracker", ...server });
    await api("POST", "/api/apps", { name: "Desk" });
    const flow = await api("POST", "/api/apps/desk/flows", {
      name: "Report",
      nodes: [
        node("on", "Event", { source: id, ...config }),
        node("end", "Return", { value: "{{ trigger.data }}" }),
      ],
      edges: [edge("on", "end")],
    });
    await api("POST", `/api/flows/${flow.id}/publish`, {});
    const subscription = async () => (await store.listTriggerSubscriptions(TENANT, id))[0];
    await expect.poll(async () => (await subscription())?.position, WAIT).not.toBeNull();
    expect(await subscription()).toMatchObject({ state: "active", error: null });
    /** Makes the next poll due, without waiting for the interval. */
    const pollNow = async () =>
      store.rotateCallbackToken(TENANT, id, (await subscription())?.id ?? "", {
        revokeNow: false,
        at: Date.now(),
      });
    return { connection: id as string, subscription, pollNow };
  };
  const outputs = async () => {
    const { items } = await api("GET", "/api/runs");
    const runs = items as { id: string; status: string }[];
    return Promise.all(
      runs
        .filter(({ status }) => status === "succeeded")
        .map(async ({ id }) => (await api("GET", `/api/runs/${id}`)).output as unknown),
    );
  };
  return { url, store, api, listen, outputs };
}

it("polls the MCP Events of another hub", async () => {
  const source = await start();
  await deliver(source.url, { id: "first" });
  const hub = await start();
  const { connection, pollNow } = await hub.listen(
    { url: `${source.url}/mcp`, auth: { type: "bearer", token: TOKEN } },
    { type: "github.issues", params: { action: "opened" } },
  );
  await deliver(source.url, { id: "second" });
  await deliver(source.url, { id: "third" });
  await pollNow();
  await expect.poll(() => hub.outputs(), WAIT).toHaveLength(2);
  expect(await hub.outputs()).toMatchObject([
    { type: "issues", action: "opened", title: "It rains" },
    { type: "issues" },
  ]);
  const { items } = await hub.store.listEvents({ tenant: TENANT, limit: 10, order: "oldest" });
  expect(items).toMatchObject([
    { source: connection, type: "github.issues", external_id: "second", title: "It rains" },
    { source: connection, type: "github.issues", external_id: "third" },
  ]);
});

it("polls a tool, and starts a run for each new item", async () => {
  const issues = [{ id: 1, title: "Old" }];
  const server = await serveSdk2({ list_issues: () => ({ issues }) });
  const hub = await start();
  const { connection, subscription, pollNow } = await hub.listen(
    { url: server.url },
    { type: "issue.created", poll: { tool: "list_issues", items: "issues", key: "id" } },
  );
  issues.unshift({ id: 2, title: "New" });
  await pollNow();
  await expect.poll(() => hub.outputs(), WAIT).toEqual([{ id: 2, title: "New" }]);
  expect(await hub.api("GET", "/pending-events")).toMatchObject([
    { source: connection, type: "issue.created", title: "New" },
  ]);

  await pollNow();
  await expect.poll(async () => (await subscription())?.state, WAIT).toBe("active");
  expect(await hub.outputs()).toHaveLength(1);
});

it("records the server's message when a poll fails, and recovers", async () => {
  let isBroken = false;
  const server = await serveSdk2({
    list_issues: () =>
      isBroken
        ? { isError: true, content: [{ type: "text", text: "The tracker is in maintenance." }] }
        : { issues: [] },
  });
  const hub = await start();
  const { subscription, pollNow } = await hub.listen(
    { url: server.url },
    { poll: { tool: "list_issues", items: "issues", key: "id" } },
  );
  isBroken = true;
  await pollNow();
  await expect
    .poll(subscription, WAIT)
    .toMatchObject({ state: "failed", error: "The tracker is in maintenance." });
  isBroken = false;
  await expect.poll(subscription, WAIT).toMatchObject({ state: "active", error: null });
});
