import { DEFAULT_REQUEST_TIMEOUT_MSEC } from "@modelcontextprotocol/client";
import { DEFAULT_REQUEST_TIMEOUT_MSEC as SDK1_TIMEOUT } from "@modelcontextprotocol/sdk/shared/protocol.js";
import type { ListToolsResult } from "@modelcontextprotocol/server";
import { describe, expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { createInbox } from "../inbox/inbox.ts";
import { testEvaluate } from "../sandbox/test-evaluate.ts";
import { openSqlite } from "../store/backends/sqlite.ts";
import { appendEvents, sampleEvent, sampleEvents } from "../store/contract/sample.ts";
import type { Access } from "../tenants/authorizer.ts";
import { createInboxServer } from "./inbox-server.ts";
import type { Wait } from "./wait-for-event.ts";

const access: Access = {
  token: "t",
  name: "t",
  scopes: ["inbox:read", "inbox:write"],
  tenants: ["acme"],
};
const NOW = Date.UTC(2026, 10, 15, 12);

interface Result {
  content: { type: "text"; text: string }[];
  structuredContent: Record<string, unknown>;
}

function setup() {
  const store = openSqlite(`${tempFolder()}/x.db`);
  const waits: Wait[] = [];
  const server = createInboxServer({
    inbox: createInbox({ store, now: () => NOW, evaluate: testEvaluate }),
    waits: {
      async wait(wait) {
        waits.push(wait);
        return undefined;
      },
      close: async () => {},
    },
    explainer: {} as never,
    store,
    authorizer: { watch: () => () => {} },
    version: "0.0.0",
  });
  onTestFinished(async () => {
    await server.close();
    await store.close();
  });
  const send = async <Result>(method: string, params: Record<string, unknown>): Promise<Result> => {
    const name = typeof params.name === "string" ? { "mcp-name": params.name } : undefined;
    const request = new Request("http://hub/mcp", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": method,
        ...name,
      },
      body: JSON.stringify({
        jsonrpc: "2.0",
        id: 1,
        method,
        params: {
          ...params,
          _meta: {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
          },
        },
      }),
    });
    const response = await server.serve(request, access, async () => {});
    return ((await response.json()) as { result: Result }).result;
  };
  const call = (name: string, args: Record<string, unknown> = {}): Promise<Result> =>
    send("tools/call", { name, arguments: args });
  return { store, send, call, waits };
}

const textsOf = ({ content }: Result) => content.map(({ text }) => text);

it("waits by default for less time than the SDKs wait for a response", async () => {
  const { send, call, waits } = setup();
  await call("wait_for_event");
  expect(waits[0]?.timeoutMs).toBe(45_000);
  expect(Math.min(DEFAULT_REQUEST_TIMEOUT_MSEC, SDK1_TIMEOUT)).toBeGreaterThanOrEqual(60_000);
  const { tools } = await send<ListToolsResult>("tools/list", {});
  const tool = tools.find(({ name }) => name === "wait_for_event");
  expect(tool?.inputSchema.properties?.timeout_s).toMatchObject({
    default: 45,
    description: expect.stringContaining("45"),
  });
});

describe("the second text block of the result", () => {
  it.each(["list_pending_events", "get_webhook_events", "search_events"])(
    "of %s has the cursor of the next page, if there is one",
    async (tool) => {
      const { store, call } = setup();
      await appendEvents(store, sampleEvents(3));
      const first = await call(tool, { limit: 2 });
      const [json, note, ...others] = textsOf(first);
      expect(JSON.parse(json as string)).toEqual(first.structuredContent.events);
      expect(others).toEqual([]);
      const cursor = /"cursor": "(.+)"/.exec(note as string)?.[1];
      expect(cursor).toBe(first.structuredContent.next_cursor);
      const last = await call(tool, { limit: 2, cursor });
      expect(textsOf(last)).toEqual([JSON.stringify(last.structuredContent.events)]);
      expect(last.structuredContent).toMatchObject({ events: [{}], next_cursor: null });
    },
  );

  it("of claim_events has the end of the lease, if events were claimed", async () => {
    const { store, call } = setup();
    await appendEvents(store, [sampleEvent()]);
    const claimed = await call("claim_events", { lease_s: 60 });
    const until = "2026-11-15T12:01:00.000Z";
    expect(claimed.structuredContent.claimed_until).toBe(until);
    expect(textsOf(claimed)).toEqual([
      JSON.stringify(claimed.structuredContent.events),
      expect.stringContaining(`Claimed until ${until}.`),
    ]);
    expect(textsOf(await call("claim_events"))).toEqual(["[]"]);
  });

  it("of mark_processed has the events that were processed before, if there are any", async () => {
    const { store, call } = setup();
    const [first, second] = [sampleEvent(), sampleEvent()];
    await appendEvents(store, [first, second]);
    const json = `{"success":true,"event_id":"${first.id}"}`;
    expect(textsOf(await call("mark_processed", { event_id: first.id }))).toEqual([json]);
    const again = await call("mark_processed", { event_id: first.id, event_ids: [second.id] });
    expect(textsOf(again)).toEqual([json, `Already processed before this call: ${first.id}.`]);
  });
});
