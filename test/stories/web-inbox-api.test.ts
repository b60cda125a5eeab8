/** What the inbox of the web UI needs of the API, on the built hub. */
import { randomUUID } from "node:crypto";
import { describe, expect, it, vi } from "vitest";
import { type Api, type Backend, startApi } from "../support/api-client.ts";
import { deliver, issueOpened } from "../support/deliver.ts";
import { edge, node } from "../support/flow-samples.ts";
import { WAIT } from "../support/timeouts.ts";

const sendEvent = async ({ hub }: Api, change: object = {}, type = "issues"): Promise<string> => {
  const body = JSON.stringify({ ...issueOpened, ...change });
  const response = await deliver(hub.url, { body, type });
  expect(response.status).toBe(202);
  return ((await response.json()) as { id: string }).id;
};
const get = async (api: Api, path: string) => (await api.expect(200, "GET", path)).json;
const list = async (api: Api, query: string): Promise<string[]> =>
  (await get(api, `/api/events?${query}`)).items.map(({ id }: { id: string }) => id);

/** Publishes a flow that fails on every opened issue. */
async function publishFailing(api: Api): Promise<{ flow: string; node: string }> {
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
    it("filters by outcome and time, and combines filters with text", async () => {
      const api = await startApi(backend);
      const early = await sendEvent(api, { action: "closed" });
      const { flow, node } = await publishFailing(api);
      const between = new Date().toISOString();
      const failing = await sendEvent(api);
      const push = await sendEvent(api, {}, "push");
      await vi.waitFor(
        async () => expect(await list(api, "outcome=failed")).toEqual([failing]),
        WAIT,
      );
      expect(await list(api, "outcome=unmatched")).toEqual([push, early]);
      expect(await list(api, "outcome=unmatched&type=issues&pending=1")).toEqual([early]);
      expect(await list(api, `until=${between}`)).toEqual([early]);
      expect(
        await list(api, `since=${between}&text=${issueOpened.issue.title.slice(0, 4)}`),
      ).toEqual([failing]);
      await api.expect(400, "GET", "/api/events?outcome=odd");
      await api.expect(400, "GET", "/api/events?since=yesterday");
      const item = (await get(api, "/api/events?outcome=failed")).items[0];
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
      expect((await get(api, "/api/events?type=push")).items[0]).toMatchObject({
        claimed_by: expect.stringContaining("/w"),
        claimed_until: expect.any(String),
      });

      const [why] = (await get(api, `/api/events/${early}/explain`)).items;
      expect(why).toMatchObject({ flow_id: flow, node_id: node, matched: false });
      expect(why.reasons).toContainEqual({
        on: "param",
        path: "action",
        holds: false,
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
      const broken = { source: "github", filter: "((" };
      const failed = await api.expect(200, "POST", "/api/triggers/preview", broken);
      expect(failed.json).toMatchObject({ matched: 0, of: 3 });
      expect(failed.json.events[0].reason).toContain("filter");
      await api.expect(400, "POST", "/api/triggers/preview", { source: "" });

      const replayed = await api.expect(200, "POST", "/api/events/bulk", {
        action: "replay",
        filter: { outcome: "failed" },
      });
      expect(replayed.json).toMatchObject({ ids: [failing], runs: 1, next_cursor: null });
    });

    it("reads parts of payloads and headers, and marks events in bulk, with undo", async () => {
      const api = await startApi(backend);
      const ids: string[] = [];
      for (let nth = 0; nth < 5; nth += 1) ids.push(await sendEvent(api, { nth }));
      const [first = "", second = "", third = ""] = ids;
      const part = await get(api, `/api/events/${first}?path=issue.title`);
      expect(part).toMatchObject({ id: first, payload: issueOpened.issue.title });
      const cut = await get(api, `/api/events/${first}?max_bytes=10`);
      expect(cut).toMatchObject({ truncated: true, payload: expect.stringMatching(/^.{10}$/) });
      expect(cut.payload_bytes).toBeGreaterThan(10);
      await api.expect(404, "GET", `/api/events/${first}?path=no.such`);
      await api.expect(400, "GET", `/api/events/${first}?path=..`);
      await api.expect(400, "GET", `/api/events/${first}?max_bytes=0`);
      const headers = await get(api, `/api/events/${first}/headers`);
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
      const rest = await bulk({ action: "processed", filter: { type: "issues" } });
      expect(rest.json.ids).toEqual(ids.slice(2).toReversed());
      expect(await list(api, "pending=1")).toEqual([]);
      const undone = await bulk({ action: "waiting", ids: rest.json.ids });
      expect(undone.json).toMatchObject({ ids: rest.json.ids, unchanged: [], unknown: [] });
      const again = await bulk({ action: "waiting", ids: [third, unknown] });
      expect(again.json).toMatchObject({ ids: [], unchanged: [third], unknown: [unknown] });
      // Processed events need no mark, and the filter excludes the others.
      const none = await bulk({ action: "processed", filter: { pending: false } });
      expect(none.json).toMatchObject({ ids: [], next_cursor: null });
      expect(await list(api, "pending=1")).toEqual(ids.slice(2).toReversed());
      const back = async () => (await api.expect(200, "POST", `/api/events/${first}/waiting`)).json;
      expect(await back()).toEqual({ id: first, already: false });
      expect(await back()).toEqual({ id: first, already: true });
      expect((await get(api, "/pending-status")).pending_count).toBe(4);

      // 51 events: a replay does not change which events match, so the cursor continues.
      for (let nth = 5; nth < 52; nth += 1) ids.push(await sendEvent(api, { nth }));
      const replay = { action: "replay", filter: { pending: true } };
      const some = (await bulk(replay)).json;
      expect(some.ids).toHaveLength(50);
      const others = (await bulk({ ...replay, cursor: some.next_cursor })).json;
      expect(others).toMatchObject({ ids: [first], next_cursor: null });

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
      const as = (token: string, body: object) =>
        api.call("POST", "/api/events/bulk", body, { token });
      expect((await as(reader, { action: "processed", ids: [third] })).status).toBe(403);
      expect((await as(writer, { action: "replay", ids: [third] })).status).toBe(403);
      expect((await as(writer, { action: "processed", ids: [third] })).status).toBe(200);
    });
  },
);
