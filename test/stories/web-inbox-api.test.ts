/** The parts of the API that the inbox of the web UI uses. */
import { randomUUID } from "node:crypto";
import { describe, expect, it, vi } from "vitest";
import { type Api, type Backend, startApi } from "../support/api-client.ts";
import { deliver, issueOpened } from "../support/deliver.ts";
import { edge, node } from "../support/flow-samples.ts";
import { WAIT } from "../support/timeouts.ts";

const sendEvent = async (
  { hub }: Api,
  overrides: object = {},
  type = "issues",
): Promise<string> => {
  const body = JSON.stringify({ ...issueOpened, ...overrides });
  const response = await deliver(hub.url, { body, type });
  expect(response.status).toBe(202);
  return ((await response.json()) as { id: string }).id;
};
const getJson = async (api: Api, path: string) => (await api.expect(200, "GET", path)).json;
const listIds = async (api: Api, query: string): Promise<string[]> =>
  (await getJson(api, `/api/events?${query}`)).items.map(({ id }: { id: string }) => id);

/** Publishes a flow that fails on every opened issue. */
async function publishFailingFlow(api: Api): Promise<{ flow: string; node: string }> {
  await api.expect(201, "POST", "/api/apps", { slug: "desk", name: "Desk" });
  const flow = await api.expect(201, "POST", "/api/apps/desk/flows", {
    name: "On issue",
    nodes: [
      node("start", "Event", { source: "github", type: "issues", params: { action: "opened" } }),
      node("end", "Transform", { expression: '$error("broken")' }),
    ],
    edges: [edge("start", "end")],
  });
  await api.expect(200, "POST", `/api/flows/${flow.json.id}/publish`);
  return { flow: flow.json.id, node: flow.json.nodes[0].id };
}

describe.each<Backend>(["SQLite", "PostgreSQL", "workerd"])(
  "the inbox of the web UI, on %s",
  (backend) => {
    it("filters events by outcome, time and text, explains and previews triggers, and replays events", async () => {
      const api = await startApi(backend);
      const early = await sendEvent(api, { action: "closed" });
      const { flow, node } = await publishFailingFlow(api);
      const between = new Date().toISOString();
      const failing = await sendEvent(api);
      const push = await sendEvent(api, {}, "push");
      await vi.waitFor(
        async () => expect(await listIds(api, "outcome=failed")).toEqual([failing]),
        WAIT,
      );
      expect(await listIds(api, "outcome=unmatched")).toEqual([push, early]);
      expect(await listIds(api, "outcome=unmatched&type=issues&pending=1")).toEqual([early]);
      expect(await listIds(api, `until=${between}`)).toEqual([early]);
      expect(
        await listIds(api, `since=${between}&text=${issueOpened.issue.title.slice(0, 4)}`),
      ).toEqual([failing]);
      await api.expect(400, "GET", "/api/events?outcome=odd");
      await api.expect(400, "GET", "/api/events?since=yesterday");
      const item = (await getJson(api, "/api/events?outcome=failed")).items[0];
      expect(item).toMatchObject({
        id: failing,
        source: "github",
        source_id: expect.any(String),
        seq: 2,
        outcome: "failed",
        trigger_status: "failed",
        claimed_by: null,
        size: expect.any(Number),
      });
      await api.expect(200, "POST", `/api/events/${push}/claim`, { worker: "w" });
      expect((await getJson(api, "/api/events?type=push")).items[0]).toMatchObject({
        claimed_by: expect.stringContaining("/w"),
        claimed_until: expect.any(String),
      });

      const [verdict] = (await getJson(api, `/api/events/${early}/explain`)).items;
      expect(verdict).toMatchObject({ flow_id: flow, node_id: node, matched: false });
      expect(verdict.trigger).toBe(`${verdict.flow_name} / ${verdict.node_name}`);
      expect(verdict.reasons).toContainEqual({
        on: "param",
        path: "action",
        holds: false,
        op: "eq",
        actual: [expect.any(String)],
        wanted: [expect.any(String)],
        message: expect.any(String),
      });

      const preview = await api.expect(200, "POST", "/api/triggers/preview", {
        source: "github",
        type: "issues",
        params: { action: "closed" },
      });
      expect(preview.json).toMatchObject({ matched: 1, of: 2 });
      expect(preview.json.events).toMatchObject([
        { event: { id: failing }, matched: false, reasons: expect.any(Array) },
        { event: { id: early }, matched: true },
      ]);
      const invalidTrigger = { source: "github", filter: "((" };
      const failedPreview = await api.expect(200, "POST", "/api/triggers/preview", invalidTrigger);
      expect(failedPreview.json).toMatchObject({ matched: 0, of: 3 });
      expect(failedPreview.json.events[0].reason).toContain("filter");
      await api.expect(400, "POST", "/api/triggers/preview", { source: "" });

      const replayed = await api.expect(200, "POST", "/api/events/bulk", {
        action: "replay",
        filter: { outcome: "failed" },
      });
      expect(replayed.json).toMatchObject({ ids: [failing], runs: 1, next_cursor: null });
    });

    it("reads parts of payloads and the headers, marks events in bulk, and undoes that", async () => {
      const api = await startApi(backend);
      const ids: string[] = [];
      for (let index = 0; index < 5; index += 1) ids.push(await sendEvent(api, { index }));
      const [first = "", second = "", third = ""] = ids;
      const title = await getJson(api, `/api/events/${first}?path=issue.title`);
      expect(title).toMatchObject({ id: first, payload: issueOpened.issue.title });
      const truncated = await getJson(api, `/api/events/${first}?max_bytes=10`);
      expect(truncated).toMatchObject({
        truncated: true,
        payload: expect.stringMatching(/^.{10}$/),
      });
      expect(truncated.payload_bytes).toBeGreaterThan(10);
      await api.expect(404, "GET", `/api/events/${first}?path=no.such`);
      await api.expect(400, "GET", `/api/events/${first}?path=..`);
      await api.expect(400, "GET", `/api/events/${first}?max_bytes=0`);
      const headers = await getJson(api, `/api/events/${first}/headers`);
      expect(headers).toMatchObject({
        content_type: "application/json",
        headers: { "x-github-event": "issues" },
      });
      expect(headers.size).toBeGreaterThan(100);

      const bulk = (body: object) => api.call("POST", "/api/events/bulk", body);
      const unknown = randomUUID();
      const marked = await bulk({ action: "processed", ids: [first, second, first, unknown] });
      expect(marked.json).toMatchObject({
        ids: [first, second],
        unchanged: [],
        unknown: [unknown],
      });
      const remaining = await bulk({ action: "processed", filter: { type: "issues" } });
      expect(remaining.json.ids).toEqual(ids.slice(2).toReversed());
      expect(await listIds(api, "pending=1")).toEqual([]);
      const undone = await bulk({ action: "waiting", ids: remaining.json.ids });
      expect(undone.json).toMatchObject({ ids: remaining.json.ids, unchanged: [], unknown: [] });
      const repeated = await bulk({ action: "waiting", ids: [third, unknown] });
      expect(repeated.json).toMatchObject({ ids: [], unchanged: [third], unknown: [unknown] });
      // The filter selects only processed events, which do not change.
      const unchanged = await bulk({ action: "processed", filter: { pending: false } });
      expect(unchanged.json).toMatchObject({ ids: [], next_cursor: null });
      expect(await listIds(api, "pending=1")).toEqual(ids.slice(2).toReversed());
      const markWaiting = async () =>
        (await api.expect(200, "POST", `/api/events/${first}/waiting`)).json;
      expect(await markWaiting()).toEqual({ id: first, already: false });
      expect(await markWaiting()).toEqual({ id: first, already: true });
      expect((await getJson(api, "/pending-status")).pending_count).toBe(4);

      // Now 51 events are pending. A replay does not change which events match, so the cursor continues.
      for (let index = 5; index < 52; index += 1) ids.push(await sendEvent(api, { index }));
      const replay = { action: "replay", filter: { pending: true } };
      const firstPage = (await bulk(replay)).json;
      expect(firstPage.ids).toHaveLength(50);
      const secondPage = (await bulk({ ...replay, cursor: firstPage.next_cursor })).json;
      expect(secondPage).toMatchObject({ ids: [first], next_cursor: null });

      for (const body of [
        {},
        { action: "processed" },
        { action: "processed", ids: [] },
        { action: "processed", ids: [third], filter: {} },
        { action: "processed", ids: [third], cursor: "1" },
        { action: "processed", filter: {}, cursor: "odd" },
        { action: "delete", ids: [third] },
        { action: "replay", ids: Array.from({ length: 51 }, () => unknown) },
      ])
        expect((await bulk(body)).status).toBe(400);
      const reader = await api.token("--scope", "inbox:read");
      const writer = await api.token("--scope", "inbox:write");
      const bulkAs = (token: string, body: object) =>
        api.call("POST", "/api/events/bulk", body, { token });
      expect((await bulkAs(reader, { action: "processed", ids: [third] })).status).toBe(403);
      expect((await bulkAs(writer, { action: "replay", ids: [third] })).status).toBe(403);
      expect((await bulkAs(writer, { action: "processed", ids: [third] })).status).toBe(200);
    });
  },
);
