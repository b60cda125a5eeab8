import { describe, expect, it } from "vitest";
import type { ToolAnswer } from "./connections.ts";
import { hasTriggers, isPerSubscription, readTriggers } from "./trigger-list.ts";

const answer = (value: unknown): ToolAnswer => ({
  isError: false,
  content: [{ type: "text", text: JSON.stringify(value) }],
});
const read = (...triggers: unknown[]) => readTriggers(answer({ triggers }));
const tool = (name: string, properties = {}) => ({
  name,
  description: "",
  inputSchema: { type: "object", properties },
});

describe("readTriggers", () => {
  it("returns the params of a trigger as a record, and as a JSON Schema", () => {
    const repo = { type: "string", description: "owner/name" };
    const action = { type: "string", enum: ["opened", "closed"], required: true };
    const [trigger] = read({
      type: "issue",
      description: "An issue",
      paramsSchema: { repo, action },
    });
    expect(trigger).toEqual({
      type: "issue",
      description: "An issue",
      binding: "callback",
      paramsSchema: { repo, action },
      inputSchema: {
        type: "object",
        properties: { repo, action: { type: "string", enum: ["opened", "closed"] } },
        required: ["action"],
      },
    });
  });

  it.each([
    ["params as an array", { params: [{ name: "repo", description: "d", required: true }] }],
    [
      "paramsSchema as an array",
      { paramsSchema: [{ name: "repo", description: "d", required: true }] },
    ],
    [
      "a JSON Schema of an object",
      {
        paramsSchema: {
          type: "object",
          properties: { repo: { type: "string", description: "d" } },
          required: ["repo"],
        },
      },
    ],
  ])("accepts %s", (_, fields) => {
    expect(read({ type: "issue", ...fields })[0]).toMatchObject({
      description: "",
      paramsSchema: { repo: { type: "string", description: "d", required: true } },
      inputSchema: {
        properties: { repo: { type: "string", description: "d" } },
        required: ["repo"],
      },
    });
  });

  it("accepts params with the names type, properties and __proto__", () => {
    const paramsSchema = JSON.parse(
      '{"type":{"type":"string"},"properties":{"type":"string"},"__proto__":{"type":"string"}}',
    );
    const [trigger] = read({ type: "issue", paramsSchema });
    expect(Object.keys(trigger?.paramsSchema ?? {})).toEqual(["type", "properties", "__proto__"]);
    expect(Object.keys(trigger?.inputSchema.properties ?? {})).toEqual([
      "type",
      "properties",
      "__proto__",
    ]);
  });

  it("returns inputSchema, payloadSchema, sample, omittedParams and title unchanged", () => {
    const fields = {
      title: "Issue",
      inputSchema: { type: "object", properties: { n: { type: "integer" } } },
      payloadSchema: { type: "object" },
      sample: { number: 1 },
      omittedParams: "any",
    };
    expect(read({ type: "issue", ...fields })[0]).toMatchObject({ ...fields, paramsSchema: {} });
  });

  it("accepts structured content, text in several blocks, and a bare array of triggers", () => {
    const triggers = [{ type: "issue" }];
    const structured = { isError: false, content: [], structuredContent: { triggers } };
    expect(readTriggers(structured)).toHaveLength(1);
    expect(readTriggers(answer(triggers))).toHaveLength(1);
    const json = JSON.stringify({ triggers });
    const content = [json.slice(0, 9), json.slice(9)].map((text) => ({ type: "text", text }));
    expect(readTriggers({ isError: false, content })).toHaveLength(1);
  });

  it("returns a repeated type once", () => {
    expect(read({ type: "a", description: "first" }, { type: "a" })).toMatchObject([
      { type: "a", description: "first" },
    ]);
  });

  it.each([
    [{}, "triggers must be an array"],
    [{ triggers: [1] }, "triggers[0] must be an object"],
    [{ triggers: [{ type: "a" }, { type: 7 }] }, "triggers[1].type must be a non-empty string"],
    [
      { triggers: [{ type: "a", paramsSchema: "x" }] },
      "triggers[0].paramsSchema must be an object",
    ],
    [{ triggers: [{ type: "a", params: [{}] }] }, "triggers[0].paramsSchema[0].name must be"],
    [
      { triggers: [{ type: "a", paramsSchema: { b: 1 } }] },
      "triggers[0].paramsSchema.b must be an object",
    ],
    [{ triggers: Array.from({ length: 1_001 }, () => ({ type: "a" })) }, "more than 1000 triggers"],
  ])("rejects the invalid answer %j", (value, message) => {
    expect(() => readTriggers(answer(value))).toThrow(message);
  });

  it("quotes an answer that is an error or not JSON", () => {
    const content = [{ type: "text", text: "Connection ID not available" }];
    expect(() => readTriggers({ isError: true, content })).toThrow(
      "TRIGGER_LIST failed: Connection ID not available",
    );
    expect(() => readTriggers({ isError: false, content })).toThrow("contains no JSON, but Conn");
  });
});

it("detects a trigger server by its two tools, and whether it supports credentials per subscription", () => {
  const list = tool("TRIGGER_LIST");
  const configure = tool("TRIGGER_CONFIGURE", { type: {} });
  expect([[list], [configure], [list, configure]].map(hasTriggers)).toEqual([false, false, true]);
  expect(isPerSubscription([list, configure])).toBe(false);
  expect(isPerSubscription([tool("TRIGGER_CONFIGURE", { subscriptionId: {} })])).toBe(true);
});
