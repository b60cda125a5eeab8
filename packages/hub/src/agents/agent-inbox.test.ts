import { expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { createInbox } from "../events/inbox/inbox.ts";
import { inboxTools } from "../events/inbox/inbox-tools.ts";
import { appendRequest, sampleEvents } from "../events/store/contract/sample.ts";
import { explainTools } from "../flows/matching/explain-tools.ts";
import { testRunJob } from "../flows/test-run-job.ts";
import { openSqlite } from "../kernel/backends/sqlite.ts";
import { storeDefinition } from "../store.ts";
import { createAgentInbox } from "./agent-inbox.ts";

async function setUp() {
  const store = openSqlite(storeDefinition, `${tempFolder()}/x.db`);
  onTestFinished(() => store.close());
  const [own, foreign] = [sampleEvents(2), sampleEvents(1)];
  await store.appendEvents([appendRequest(own, "acme"), appendRequest(foreign, "umbrella")], null);
  const errors: unknown[] = [];
  const inbox = createInbox({ store, now: Date.now, runJob: testRunJob });
  const waits = { wait: () => Promise.reject(new Error("must not wait")) };
  const explainer = {
    explain: () => Promise.reject(new Error("the disk is full")),
    replay: () => Promise.reject(new Error("the disk is full")),
  };
  const tools = createAgentInbox({
    tools: [...inboxTools({ inbox, waits }), ...explainTools({ inbox, explainer })],
    onError: (error) => errors.push(error),
  });
  const call = async (tool: string, args = {}, run = "run-1") => {
    const { signal } = new AbortController();
    const toolCall = { tool, arguments: args };
    const { isError, text } = await tools.callTool({ id: run, tenant: "acme" }, toolCall, signal);
    return { isError, text };
  };
  return { own, foreign: foreign[0]?.id ?? "", errors, tools, call };
}

it("offers the tools of the inbox, except those that wait, return many payloads or start runs", async () => {
  const { tools } = await setUp();
  const names = (await tools.listTools()).map(({ name }) => name);
  expect(names).toContain("mark_processed");
  for (const omitted of ["wait_for_event", "get_webhook_events", "replay_event"])
    expect(names).not.toContain(omitted);
});

it("reads and changes only events of the run's tenant", async () => {
  const { call, own, foreign } = await setUp();
  const { text } = await call("list_pending_events");
  const [, second] = own;
  expect(text).toContain(second?.id);
  expect(text).not.toContain(foreign);
  for (const tool of ["get_event", "mark_processed"]) {
    expect(await call(tool, { event_id: foreign })).toMatchObject({ isError: true });
    expect(await call(tool, { event_id: second?.id })).toMatchObject({ isError: false });
  }
});

it("claims events for the run, so that only this run can release them", async () => {
  const { call, own } = await setUp();
  const { text } = await call("claim_events", { limit: 2 });
  const event_id = own[0]?.id;
  expect(text).toContain(event_id);
  expect((await call("claim_events", {}, "run-2")).text).toBe("[]");
  expect(await call("release_event", { event_id }, "run-2")).toMatchObject({ isError: true });
  expect(await call("release_event", { event_id })).toMatchObject({ isError: false });
});

it("returns errors as results, and hides unexpected ones", async () => {
  const { call, own, errors } = await setUp();
  expect(await call("nothing")).toEqual({ isError: true, text: "There is no tool nothing." });
  expect(await call("list_pending_events", { limit: 0 })).toEqual({
    isError: true,
    text: "limit: must be at least 1",
  });
  const { isError, text } = await call("explain_event", { event_id: own[0]?.id });
  expect([isError, text.includes("disk")]).toEqual([true, false]);
  expect(errors).toHaveLength(1);
});
