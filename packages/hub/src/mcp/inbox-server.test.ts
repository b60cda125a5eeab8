import { DEFAULT_REQUEST_TIMEOUT_MSEC } from "@modelcontextprotocol/client";
import { DEFAULT_REQUEST_TIMEOUT_MSEC as SDK1_TIMEOUT } from "@modelcontextprotocol/sdk/shared/protocol.js";
import type { ListToolsResult } from "@modelcontextprotocol/server";
import fc from "fast-check";
import { describe, expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../../test/support/temp-folder.ts";
import { createInbox } from "../events/inbox/inbox.ts";
import { inboxOffer } from "../events/inbox/inbox-offer.ts";
import type { Wait } from "../events/inbox/wait-for-event.ts";
import { appendEvents, sampleEvent, sampleEvents } from "../events/store/contract/sample.ts";
import { testRunJob } from "../flows/test-run-job.ts";
import type { Access } from "../kernel/access/authorizer.ts";
import { openSqlite } from "../kernel/backends/sqlite.ts";
import { storeDefinition } from "../store.ts";
import { createInboxServer } from "./inbox-server.ts";

const access: Access = {
  token: "t",
  name: "t",
  scopes: ["inbox:read", "inbox:write"],
  tenants: ["acme"],
};
const TENANTS = ["acme", "umbrella"];
const NOW = Date.UTC(2026, 10, 15, 12);

interface Result {
  content: { type: "text"; text: string }[];
  structuredContent: Record<string, unknown>;
}

function setup() {
  const store = openSqlite(storeDefinition, `${tempFolder()}/x.db`);
  const waits: Wait[] = [];
  const server = createInboxServer({
    offers: [
      inboxOffer({
        inbox: createInbox({ store, now: () => NOW, runJob: testRunJob }),
        waits: {
          async wait(wait) {
            waits.push(wait);
            return undefined;
          },
        },
      }),
    ],
    store,
    authorizer: { watch: () => () => {} },
    version: "0.0.0",
  });
  onTestFinished(async () => {
    await server.close();
    await store.close();
  });
  const send = async <Result>(
    method: string,
    params: Record<string, unknown>,
    tenants = access.tenants,
  ): Promise<Result> => {
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
    const response = await server.serve(request, { ...access, tenants }, async () => {});
    return ((await response.json()) as { result: Result }).result;
  };
  const call = (name: string, args: Record<string, unknown> = {}): Promise<Result> =>
    send("tools/call", { name, arguments: args });
  /** Also returns the size of the result as the client gets it. */
  const callMeasured = async (name: string, args: Record<string, unknown>) => {
    const result = await send<Result>("tools/call", { name, arguments: args }, TENANTS);
    const bytes = new TextEncoder().encode(JSON.stringify(result)).byteLength;
    return { bytes, ...result };
  };
  return { store, send, call, callMeasured, waits };
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

interface ListedEvent {
  id: string;
  payload: unknown;
  truncated?: boolean;
}

describe("a list within a budget of bytes", () => {
  /** Texts of which one character takes one to seven bytes in a result. */
  const text = fc
    .tuple(fc.constantFrom("x", '"', "\\", "é", "漢", "😀", "\n"), fc.nat(20_000))
    .map(([character, length]) => character.repeat(length));
  const inputs = fc.record({
    payloads: fc.array(fc.tuple(fc.constantFrom(...TENANTS), text), { minLength: 1, maxLength: 8 }),
    max_bytes: fc.oneof(fc.integer({ min: 4_000, max: 60_000 }), fc.constant(undefined)),
    limit: fc.integer({ min: 1, max: 10 }),
  });
  const append = async (
    store: ReturnType<typeof setup>["store"],
    payloads: readonly (readonly [string, string])[],
  ) => {
    const stored = new Map<string, string>();
    for (const [index, [tenant, text]] of payloads.entries()) {
      const body = JSON.stringify({ text });
      const event = sampleEvent({
        received_at: NOW + index,
        title: `${text.slice(0, 50)} ${index}`,
        body: new TextEncoder().encode(body),
      });
      await appendEvents(store, [event], tenant);
      stored.set(event.id, body);
    }
    return stored;
  };

  it.each(["list_pending_events", "search_events", "get_webhook_events"])(
    "has each event on exactly one page of %s, and cuts a payload only if it is alone",
    async (tool) => {
      await fc.assert(
        fc.asyncProperty(inputs, async ({ payloads, ...args }) => {
          const { store, callMeasured } = setup();
          const stored = await append(store, payloads);
          const ids: string[] = [];
          let cursor: string | null = null;
          do {
            const page = await callMeasured(tool, { ...args, ...(cursor && { cursor }) });
            expect(page.bytes).toBeLessThanOrEqual(args.max_bytes ?? 40_000);
            const listed = page.structuredContent.events as ListedEvent[];
            for (const { id, payload, truncated } of listed) {
              ids.push(id);
              if (truncated) expect(listed).toHaveLength(1);
              if (tool !== "get_webhook_events") continue;
              const body = stored.get(id) as string;
              if (truncated) expect(body.startsWith(payload as string)).toBe(true);
              else expect(JSON.stringify(payload)).toBe(body);
            }
            cursor = page.structuredContent.next_cursor as string | null;
          } while (cursor !== null);
          expect(ids).toEqual([...stored.keys()].reverse());
        }),
        { numRuns: 12 },
      );
    },
  );

  it("fills a page before it ends it, and cuts a payload only as far as needed", async () => {
    const { store, callMeasured } = setup();
    await append(store, [
      ["acme", "x".repeat(100_000)],
      ["acme", "x".repeat(5_000)],
      ["acme", "x".repeat(5_000)],
    ]);
    const first = await callMeasured("get_webhook_events", {});
    expect(first.structuredContent.events).toHaveLength(2);
    const { next_cursor: cursor } = first.structuredContent;
    const second = await callMeasured("get_webhook_events", { cursor });
    expect(second.structuredContent).toMatchObject({
      events: [{ truncated: true, payload_bytes: 100_011 }],
      next_cursor: null,
    });
    expect(second.bytes).toBeGreaterThan(35_000);
    expect(textsOf(second)[1]).toMatch(/^Truncated: .* call get_event .* "offset": \d+\.$/);
  });

  it("has events of claim_events, and the others are not claimed", async () => {
    const claims = fc.record({
      payloads: fc.array(fc.tuple(fc.constantFrom(...TENANTS), text), {
        minLength: 20,
        maxLength: 30,
      }),
      max_bytes: fc.integer({ min: 4_000, max: 10_000 }),
      limit: fc.integer({ min: 10, max: 30 }),
    });
    await fc.assert(
      fc.asyncProperty(claims, async ({ payloads, ...args }) => {
        const { store, callMeasured } = setup();
        const titles = payloads.map(([tenant, text]) => [tenant, text.slice(0, 50)] as const);
        const stored = await append(store, titles);
        const ids: string[] = [];
        for (;;) {
          const claim = await callMeasured("claim_events", args);
          expect(claim.bytes).toBeLessThanOrEqual(args.max_bytes);
          const claimed = claim.structuredContent.events as ListedEvent[];
          if (claimed.length === 0) break;
          ids.push(...claimed.map(({ id }) => id));
        }
        expect(ids.toSorted()).toEqual([...stored.keys()].toSorted());
      }),
      { numRuns: 5 },
    );
  });

  it("does not cut a payload that becomes longer as JSON, unless it is alone", async () => {
    const { store, callMeasured } = setup();
    const binary = new Uint8Array(200_000).fill(0xff);
    await appendEvents(store, [sampleEvent({ body: binary })]);
    await appendEvents(store, [sampleEvent({ received_at: NOW })]);
    const first = await callMeasured("get_webhook_events", { max_bytes: 1_000_000 });
    expect(first.structuredContent.events).toMatchObject([
      { payload: { created: expect.any(Number) } },
    ]);
    const { next_cursor: cursor } = first.structuredContent;
    const second = await callMeasured("get_webhook_events", { max_bytes: 1_000_000, cursor });
    expect(second.structuredContent.events).toMatchObject([{ truncated: true }]);
  });

  it("claims equal shares of the tenants, although not all events fit", async () => {
    const { store, callMeasured } = setup();
    await append(store, [
      ...Array.from({ length: 20 }, () => ["acme", ""] as const),
      ...Array.from({ length: 20 }, () => ["umbrella", ""] as const),
    ]);
    const claim = await callMeasured("claim_events", { limit: 40, max_bytes: 8_000 });
    const ids = (claim.structuredContent.events as ListedEvent[]).map(({ id }) => id);
    const shares = TENANTS.map(async (tenant) => {
      const events = await Promise.all(ids.map((id) => store.getEvent(tenant, id)));
      return events.filter((event) => event !== undefined).length;
    });
    const [first = 0, second = 0] = await Promise.all(shares);
    expect([first > 2, Math.abs(first - second) <= 1]).toEqual([true, true]);
  });

  it("leaves the least frequent types out of get_pending_status, and counts them", async () => {
    const { store, callMeasured } = setup();
    const types = Array.from({ length: 300 }, (_, index) => `${"t".repeat(100)}-${index}`);
    await appendEvents(
      store,
      [...types, "frequent", "frequent"].map((type) => sampleEvent({ type })),
    );
    const status = await callMeasured("get_pending_status", { max_bytes: 10_000 });
    expect(status.bytes).toBeLessThanOrEqual(10_000);
    const { types: listed, omitted_types, pending_count } = status.structuredContent;
    expect(pending_count).toBe(302);
    expect(listed).toMatchObject({ frequent: 2 });
    expect(Object.keys(listed as object).length + (omitted_types as number)).toBe(301);
  });
});
