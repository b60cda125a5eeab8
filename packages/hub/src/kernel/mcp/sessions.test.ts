import { Server } from "@modelcontextprotocol/server";
import { describe, expect, it, onTestFinished } from "vitest";
import type { Access } from "../access/authorizer.ts";
import type { Notice } from "../store/sql.ts";
import { createOpenStreams } from "./open-streams.ts";
import { readCall } from "./read-call.ts";
import { createResourceChanges, INBOX_URI } from "./resource-changes.ts";
import { createSessions, resourceSubscriptions, type SessionsOptions } from "./sessions.ts";

const ada: Access = { token: "ada", name: "ada", scopes: ["inbox:read"], tenants: ["acme"] };
const bob: Access = { ...ada, token: "bob" };

function setup(limits: Partial<SessionsOptions> = {}) {
  let at = 0;
  let notify = (_: Notice) => {};
  const changes = createResourceChanges(
    {
      subscribe(listener) {
        notify = listener;
        return () => {};
      },
    },
    () => at,
  );
  const streams = createOpenStreams({ watch: () => () => {} });
  const sessions = createSessions({
    createServer: () =>
      new Server(
        { name: "test", version: "1" },
        { capabilities: { resources: { subscribe: true } } },
      ),
    subscriptions: resourceSubscriptions(async () => true),
    changes,
    streams,
    now: () => at,
    ...limits,
  });
  onTestFinished(async () => {
    streams.close();
    await sessions.close();
  });
  const request = (method: string, session?: string, message?: object) =>
    new Request("http://hub/mcp", {
      method,
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...(session ? { "mcp-session-id": session } : {}),
      },
      ...(message ? { body: JSON.stringify({ jsonrpc: "2.0", id: 1, ...message }) } : {}),
    });
  const serve = async (rawRequest: Request, access = ada) => {
    const call = await readCall(rawRequest);
    if (call instanceof Response) return call;
    const { body } = call;
    return sessions.serve(call.request, { access, reserveBytes: async () => {}, body });
  };
  const send = async (session: string, method = "ping", params = {}, access = ada) => {
    const response = await serve(request("POST", session, { method, params }), access);
    await response?.text();
    return response?.status;
  };
  const open = async (access = ada): Promise<string | undefined> => {
    const params = {
      protocolVersion: "2025-11-25",
      capabilities: {},
      clientInfo: { name: "test", version: "1" },
    };
    const response = await serve(
      request("POST", undefined, { method: "initialize", params }),
      access,
    );
    await response?.text();
    return response?.headers.get("mcp-session-id") ?? undefined;
  };
  const stream = async (session = "", access = ada) => {
    const response = (await serve(request("GET", session), access)) as Response;
    return (response.body as ReadableStream<Uint8Array>).getReader();
  };
  const stored = () => notify({ topic: "events", tenant: "acme", seq: 1 });
  return { serve, request, send, open, stream, stored, advance: (ms: number) => (at += ms) };
}

describe("sessions", () => {
  it("end after half an hour without a request or an open stream", async () => {
    const { send, open, stream, advance } = setup();
    const [used = "", streaming = "", idle = ""] = [await open(), await open(), await open()];
    const reader = await stream(streaming);
    advance(20 * 60_000);
    expect(await send(used)).toBe(200);
    advance(20 * 60_000);
    expect([await send(used), await send(streaming), await send(idle)]).toEqual([200, 200, 404]);
    await reader.cancel();
    advance(31 * 60_000);
    expect(await send(streaming)).toBe(404);
  });

  it("are evicted at the limit if they are idle, and are not opened if all others are in use", async () => {
    const { send, open, stream } = setup({ maxPerToken: 2, maxTotal: 3 });
    const [first = "", second = "", third = ""] = [await open(), await open(), await open()];
    expect([await send(first), await send(second), await send(third)]).toEqual([404, 200, 200]);
    const readers = [await stream(second), await stream(third)];
    expect(await open()).toBeUndefined();
    const bobs = await open(bob);
    expect(await open(bob)).not.toBe(bobs);
    expect(await send(bobs ?? "", "ping", {}, bob)).toBe(404);
    await readers[0]?.cancel();
    expect(await open()).toBeDefined();
    expect(await send(second)).toBe(404);
  });

  it("are shared fairly by the tenants: many tokens of one tenant do not evict the sessions of another", async () => {
    const { send, open, stream } = setup({ maxPerToken: 2, maxTotal: 6 });
    const umbrella: Access = { ...ada, token: "umbrella", tenants: ["umbrella"] };
    const own = (await open(umbrella)) ?? "";
    const tokens = Array.from({ length: 5 }, (_, at): Access => ({ ...ada, token: `t${at}` }));
    for (const token of [...tokens, ...tokens]) {
      const session = (await open(token)) ?? "";
      if (session) await stream(session, token);
    }
    expect(await send(own, "ping", {}, umbrella)).toBe(200);
    // All other sessions are in use, but their tenant has more than its share.
    const second = (await open(umbrella)) ?? "";
    expect(await send(second, "ping", {}, umbrella)).toBe(200);
    expect(await send(own, "ping", {}, umbrella)).toBe(200);
  });

  it("stay within the limit when many are opened concurrently", async () => {
    const { send, open } = setup({ maxPerToken: 5 });
    const opened = await Promise.all(Array.from({ length: 50 }, () => open()));
    const alive = await Promise.all(opened.map((session) => session && send(session)));
    expect(alive.filter((status) => status === 200).length).toBeLessThanOrEqual(5);
    expect(await open()).toBeDefined();
  });

  it("send nothing to a client that does not read, and one notification when it reads again", async () => {
    const { send, open, stream, stored, advance, serve, request } = setup();
    const session = (await open()) ?? "";
    await send(session, "resources/subscribe", { uri: INBOX_URI });
    const reader = await stream(session);
    stored();
    expect((await reader.read()).done).toBe(false);
    for (let more = 0; more < 100; more += 1) {
      advance(5_000);
      stored();
    }
    expect((await reader.read()).done).toBe(false);
    await serve(request("DELETE", session));
    expect((await reader.read()).done).toBe(true);
  });

  it("are idle again if the client disconnects before or after it gets its stream", async () => {
    const { serve, request, open, send } = setup({ maxPerToken: 1 });
    const session = (await open()) ?? "";
    for (const disconnect of ["before", "after"] as const) {
      const client = new AbortController();
      const get = new Request(request("GET", session), { signal: client.signal });
      const serving = serve(get);
      if (disconnect === "before") client.abort();
      expect((await serving)?.status).toBe(200);
      expect(await send(session)).toBe(200);
      if (disconnect === "after") client.abort();
    }
    expect(await open()).toBeDefined();
  });

  it("do not serve requests without a session or with the 2026-07-28 protocol", async () => {
    const { serve, request, open } = setup();
    const session = await open();
    expect(await serve(request("POST", undefined, { method: "ping" }))).toBeUndefined();
    expect(await serve(request("GET"))).toBeUndefined();
    // The session header has no meaning in the 2026-07-28 protocol.
    const modern = request("POST", session, {
      method: "ping",
      params: { _meta: { "io.modelcontextprotocol/protocolVersion": "2026-07-28" } },
    });
    expect(await serve(modern)).toBeUndefined();
  });

  it("limit the number of subscribed resources", async () => {
    const { request, serve, open, send } = setup();
    const session = (await open()) ?? "";
    for (let at = 0; at < 1_000; at += 1)
      await send(session, "resources/subscribe", { uri: `signalbox://events/${at}` });
    const more = { method: "resources/subscribe", params: { uri: "signalbox://events/more" } };
    const response = await serve(request("POST", session, more));
    expect(await response?.text()).toContain("unsubscribe from some first");
  });
});
