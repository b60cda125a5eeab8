import { ProtocolError } from "@modelcontextprotocol/server";
import type { Json } from "@signalbox/rules/json.ts";
import { LARGE_BYTES, LargeJson, type MaybeLarge } from "@signalbox/rules/large-json.ts";
import { describe, expect, it } from "vitest";
import { toProtocolError } from "../../kernel/mcp/sdk-errors.ts";
import type { Run } from "../runs/model.ts";
import { runToolResult, withRenamedNote } from "./app-results.ts";

const result = (run: Partial<Run>, schemaError?: string) =>
  runToolResult(
    {
      getVersion: async () => ({
        nodes: [
          {
            id: "n1",
            type: "Code",
            name: "Sum up",
            slug: "s",
            position: { x: 0, y: 0 },
            parameters: {},
          },
        ],
        edges: [],
      }),
    },
    { resultError: async () => schemaError },
    {
      id: "run1",
      tenant: "acme",
      flow_id: "f",
      version: 1,
      output: null,
      error: null,
      ...run,
    } as Run,
  );
const succeeded = (output: MaybeLarge, schemaError?: string) =>
  result({ status: "succeeded", output }, schemaError);

describe("runToolResult", () => {
  it("returns a large result, unless it is too large for a tool", async () => {
    const list = ["x".repeat(LARGE_BYTES)];
    expect(await succeeded(new LargeJson(JSON.stringify({ list })))).toMatchObject({
      content: [{ type: "text", text: JSON.stringify({ list }) }],
      structuredContent: { list },
    });
    expect(await succeeded(new LargeJson(`[${"0,".repeat(200_000)}0]`))).toMatchObject({
      isError: true,
      content: [{ text: expect.stringContaining("/api/runs/run1/output") }],
    });
  });

  it("returns text, and structured content for an object", async () => {
    expect(await succeeded({ a: [1] })).toEqual({
      content: [{ type: "text", text: '{"a":[1]}' }],
      structuredContent: { a: [1] },
      _meta: { "signalbox/run": "run1" },
    });
    for (const [output, text] of [
      [[1, 2], "[1,2]"],
      [null, "null"],
      [3, "3"],
      ["Hello!", "Hello!"],
    ] as const) {
      const { content, structuredContent } = await succeeded(output as Json);
      expect(content).toEqual([{ type: "text", text }]);
      expect(structuredContent).toBeUndefined();
    }
  });

  it("returns an error if the output does not match the output schema", async () => {
    expect(await succeeded({ a: "x" }, "a: must be a number, but is a string")).toMatchObject({
      isError: true,
      content: [
        {
          text: "The flow's result does not match its output schema: a: must be a number, but is a string (run run1)",
        },
      ],
    });
  });

  it("returns the message of a failed or cancelled run as an error", async () => {
    const error = { code: "boom", message: "No sums today.", node_id: "n1" };
    expect(await result({ status: "failed", error })).toMatchObject({
      isError: true,
      content: [{ text: 'No sums today. (node "Sum up", run run1)' }],
    });
    const late = { code: "run_timeout", message: "The run exceeds the time limit of 5 ms." };
    expect(await result({ status: "failed", error: late })).toMatchObject({
      isError: true,
      content: [{ text: "The run exceeds the time limit of 5 ms. (run run1)" }],
    });
    expect(await result({ status: "cancelled" })).toMatchObject({
      isError: true,
      content: [{ text: "The run was cancelled. (run run1)" }],
    });
    const replaced = { code: "superseded", message: "A newer run replaced it." };
    expect(await result({ status: "cancelled", error: replaced })).toMatchObject({
      isError: true,
      content: [{ text: "A newer run replaced it. (run run1)" }],
    });
  });

  it("adds a note to the content if the tool was called by a former name", async () => {
    const { content, _meta } = withRenamedNote(await succeeded({ a: 1 }), "old", "new");
    expect(content).toMatchObject([
      { text: '{"a":1}' },
      { text: expect.stringContaining("old was renamed to new") },
    ]);
    expect(_meta).toEqual({ "signalbox/run": "run1", "signalbox/renamedTo": "new" });
  });
});

it("toProtocolError logs an unexpected error and hides its message", () => {
  const logged: unknown[] = [];
  const error = toProtocolError(new Error("password=hunter2"), (unexpected) =>
    logged.push(unexpected),
  );
  expect(error).toBeInstanceOf(ProtocolError);
  expect(error.message).not.toContain("hunter2");
  expect(logged).toHaveLength(1);
});
