import { Permanent } from "@signalbox/rules/flows/errors.ts";
import type { LogLine } from "@signalbox/rules/flows/evaluation.ts";
import { describe, expect, it } from "vitest";
import { ConnectionError } from "../../connections/connection-error.ts";
import type { CallOptions, ToolAnswer, ToolCall } from "../../connections/connections.ts";
import type { Connection, Offers } from "../../connections/model.ts";
import type { Run } from "./model.ts";
import { createToolProgress, createToolServices, type ToolProgress } from "./node-services.ts";

const run = { id: "r", tenant: "acme" } as Run;
const { signal } = new AbortController();
const left: string[] = [];
const caller = {
  key: "r:node",
  signal,
  onProgress() {},
  enterOrigin: async (origin: string) => () => void left.push(origin),
};
const getTool = {
  name: "get",
  title: "Get",
  description: "Gets it.",
  inputSchema: { type: "object" },
  annotations: { readOnlyHint: true },
};
const offersOf = (...tools: Offers["tools"]): Offers => ({
  server: null,
  perSubscription: false,
  tools,
  triggers: [],
});
const storedConnection = {
  id: "weather",
  tenant: "acme",
  target: { url: "https://weather.example/mcp" },
  revision: 1,
  checked_at: 1,
  attempt: 0,
};

function setUp({
  connection = storedConnection as Connection,
  stored = offersOf(getTool) as Offers | null,
  answer = { isError: false, content: [] } as ToolAnswer | Error,
} = {}) {
  const calls: [ToolCall, CallOptions][] = [];
  const reads: string[] = [];
  const current = { connection };
  const services = createToolServices({
    store: {
      async getConnection(tenant, id) {
        return tenant === "acme" && id === "weather" ? current.connection : undefined;
      },
      async getOffers() {
        reads.push("stored");
        return stored ?? undefined;
      },
    },
    connections: {
      async callTool(_, toolCall, options) {
        calls.push([toolCall, options]);
        if (answer instanceof Error) throw answer;
        return answer;
      },
      async loadOffers() {
        reads.push("loaded");
        if (answer instanceof Error) throw answer;
        return offersOf({ ...getTool, name: "now" });
      },
    },
  });
  return { services, calls, reads, current };
}
const call = { connection: "weather", tool: "get", arguments: { city: "Bern" } };

describe("callTool", () => {
  it("passes the key and the signal of the step, and returns the result of the tool", async () => {
    const content = [
      { type: "text", text: "12" },
      { type: "image", data: "" },
      { type: "text", text: "degrees" },
    ];
    const answer = { isError: true, content, structuredContent: { degrees: 12 } };
    const { services, calls } = setUp({ answer });
    expect(await services.callTool(run, call, caller)).toEqual({
      isError: true,
      content,
      structured: { degrees: 12 },
      text: "12\ndegrees",
    });
    await services.callTool(run, { ...call, id: "tool-2-1" }, caller);
    expect(calls).toMatchObject([
      [{ tool: "get", arguments: { city: "Bern" } }, { idempotencyKey: "r:node" }],
      [{}, { idempotencyKey: "r:node:tool-2-1" }],
    ]);
    expect(calls[0]?.[1].signal).toBe(signal);
  });

  it("returns null if there is no structured content", async () => {
    const result = await setUp().services.callTool(run, call, caller);
    expect(result).toEqual({ isError: false, content: [], structured: null, text: "" });
  });

  it("fails permanently if the tenant has no such connection", async () => {
    const { services, calls } = setUp();
    for (const [callingRun, connection] of [
      [run, "gone"],
      [{ ...run, tenant: "umbrella" }, "weather"],
    ] as const)
      await expect(services.callTool(callingRun, { ...call, connection }, caller)).rejects.toThrow(
        new Permanent(
          `There is no connection ${connection}. Add it, or choose another connection.`,
          { code: "no_such_connection" },
        ),
      );
    expect(calls).toEqual([]);
  });

  it.each([
    ["unreachable", false],
    ["timeout", false],
    ["busy", false],
    ["rejected", false],
    ["address_refused", true],
    ["too_large", true],
    ["invalid_response", true],
    ["invalid_target", true],
    ["not_allowed", true],
  ] as const)("fails with the error %s (permanent: %s)", async (code, isPermanent) => {
    const { services } = setUp({ answer: new ConnectionError(code, "the reason") });
    const error = await services.callTool(run, call, caller).catch((error: unknown) => error);
    expect(error).toMatchObject({ code, message: "the reason" });
    expect(error instanceof Permanent).toBe(isPermanent);
  });
});

describe("listTools", () => {
  it("caches the stored list until the next check of the connection", async () => {
    const { services, reads, current } = setUp();
    const { annotations: _, ...tool } = getTool;
    expect(await services.listTools(run, "weather", caller)).toEqual([tool]);
    await services.listTools(run, "weather", caller);
    expect(reads).toEqual(["stored"]);
    current.connection = { ...storedConnection, checked_at: 2 } as Connection;
    await services.listTools(run, "weather", caller);
    expect(reads).toEqual(["stored", "stored"]);
  });

  it("loads the list from the server if no list is stored", async () => {
    const { services, reads } = setUp({ stored: null });
    expect(await services.listTools(run, "weather", caller)).toMatchObject([{ name: "now" }]);
    expect(reads).toEqual(["stored", "loaded"]);
  });

  it("fails permanently if there is no such connection", async () => {
    await expect(setUp().services.listTools(run, "gone", caller)).rejects.toMatchObject({
      name: "Permanent",
      code: "no_such_connection",
    });
  });
});

describe("the progress of a tool", () => {
  const report = (progress: ToolProgress[], maskText = (text: string) => text) => {
    const lines: LogLine[] = [];
    const reported: ToolProgress[] = [];
    const onProgress = createToolProgress(
      maskText,
      (line) => lines.push(line),
      (update) => reported.push(update),
    );
    for (const update of progress) onProgress(update);
    return { texts: lines.map(({ text }) => text), reported };
  };

  it("is logged and reported, with secrets masked and long messages truncated", () => {
    const mask = (text: string) => text.replaceAll("s3cret", "•••");
    const { texts, reported } = report(
      [
        { progress: 1, total: 2, message: "uses s3cret" },
        { progress: 0.5 },
        { progress: 2, total: 2, message: "x".repeat(9_000) },
      ],
      mask,
    );
    expect(texts).toEqual(["1 of 2: uses •••", "0.5", `2 of 2: ${"x".repeat(500)}`]);
    expect(reported.slice(0, 2)).toEqual([
      { progress: 1, total: 2, message: "uses •••" },
      { progress: 0.5 },
    ]);
  });

  it("has at most 100 lines in the log", () => {
    const { texts, reported } = report(
      Array.from({ length: 5_000 }, (_, index) => ({ progress: index })),
    );
    expect(texts).toHaveLength(100);
    expect(texts.at(-1)).toBe("Further progress is not logged.");
    expect(reported).toHaveLength(5_000);
  });
});
