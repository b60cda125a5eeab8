import type { Json } from "@signalbox/rules/json.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { utf8 } from "../lib/bytes.ts";
import { decodeObject } from "./decode.ts";

const decode = (text: string | Uint8Array, type = "application/json") =>
  decodeObject(type, typeof text === "string" ? utf8(text) : text);
const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;

describe("decodeObject", () => {
  it.each([
    ["", "empty_body"],
    ["{", "invalid_json"],
    ["hello", "invalid_json"],
    ["[]", "not_an_object"],
    ["null", "not_an_object"],
    ['"text"', "not_an_object"],
    ["42", "not_an_object"],
    [Uint8Array.of(0x7b, 0xff, 0x7d), "invalid_utf8"],
    [Uint8Array.of(0xed, 0xa0, 0x80), "invalid_utf8"],
    [nested(129), "too_deep"],
    ["[".repeat(1_000_000), "too_deep"],
    [`{"a":${"[".repeat(200)}${"]".repeat(200)}}`, "too_deep"],
  ])("rejects invalid input: case %#", (text, reason) => {
    expect(decode(text)).toMatchObject({ outcome: "rejected", reason });
  });

  it("returns the message of JSON.parse", () => {
    expect(decode('{"a":}')).toMatchObject({
      detail: expect.stringMatching(/not valid JSON: .*(position|token)/i),
    });
    expect(decode('{"a": b}')).toMatchObject({
      detail: expect.stringContaining("The body is not valid JSON: Unexpected token 'b'"),
    });
  });

  it("accepts the maximum depth and ignores brackets in strings", () => {
    expect(decode(nested(128))).toHaveProperty("object");
    const text = JSON.stringify({ a: '\\"{['.repeat(500), b: Array(300).fill({}) });
    expect(decode(text)).toEqual({ object: JSON.parse(text) });
  });

  it("rejects a form with too many fields before it is decoded", () => {
    const form = "application/x-www-form-urlencoded";
    expect(decode("a&".repeat(6_000_000), form)).toMatchObject({
      reason: "too_many_values",
      detail: expect.stringContaining("10000 fields"),
    });
    expect(decode(`${"a&".repeat(9_999)}a=1`, form)).toEqual({ object: { a: "1" } });
  });

  it("decodes the field payload of a form, or else all fields", () => {
    const form = "application/x-www-form-urlencoded";
    expect(decode(`payload=${encodeURIComponent('{"a":"ü"}')}`, form)).toEqual({
      object: { a: "ü" },
    });
    expect(decode("command=%2Fdeploy&text=now", form)).toEqual({
      object: { command: "/deploy", text: "now" },
    });
    expect(decode("payload=%5B%5D", form)).toMatchObject({ reason: "not_an_object" });
  });

  it("decodes any JSON object", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue({ maxDepth: 20 })), (object) => {
        const text = JSON.stringify(object);
        expect(decode(text)).toEqual({ object: JSON.parse(text) as Json });
      }),
    );
  });

  it("never throws", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 300 }), (bytes) => typeof decode(bytes) === "object"),
    );
  });
});
