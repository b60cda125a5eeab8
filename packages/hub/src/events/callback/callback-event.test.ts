import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { testRunJob } from "../../flows/test-run-job.ts";
import { isRejection } from "../../kernel/http/ingest-outcome.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";
import { type Callback, parseCallback, readLargeCallback, toEvent } from "./callback-event.ts";

const parse = (body: unknown) => parseCallback(utf8(JSON.stringify(body)));
const textOf = ({ body }: Callback) => new TextDecoder().decode(body);

function parseValid(bytes: Uint8Array): Callback {
  const parsed = parseCallback(bytes);
  if (isRejection(parsed)) throw new Error(parsed.detail);
  return parsed;
}

it("reads type, data, id and timestamp, and ignores other fields", () => {
  expect(
    parse({ type: "sun", data: { a: 1 }, id: "7", timestamp: "2026-01-05T09:30:00Z", x: 1 }),
  ).toEqual({
    type: "sun",
    data: { a: 1 },
    body: utf8('{"a":1}'),
    id: "7",
    timestamp: "2026-01-05T09:30:00Z",
  });
});

it("treats missing data as an empty object, and an empty id as missing", () => {
  const parsed = parse({ type: "sun", id: "" }) as Callback;
  expect(parsed).toMatchObject({ data: {}, id: undefined, timestamp: undefined });
  expect(textOf(parsed)).toBe("{}");
});

it("keeps the received JSON of data, so that large numbers do not change", () => {
  const data = '{ "n": 9007199254740993, "é": "ü" }';
  for (const type of ["sun", "☀"])
    expect(textOf(parseValid(utf8(`{"type":"${type}","data":${data}}`)))).toBe(data);
});

describe("parseCallback rejects", () => {
  it.each([
    [{}, "missing_field", "The body lacks the field type with the type of the event."],
    [
      { type: "" },
      "invalid_field",
      "The field type must be a string that is not empty, but is empty.",
    ],
    [{ type: " " }, "invalid_field", "field type"],
    [
      { type: 7 },
      "invalid_field",
      "The field type must be a string that is not empty, but is a number.",
    ],
    [{ type: null }, "invalid_field", "is null"],
    [{ type: "x".repeat(201) }, "invalid_field", "The field type is longer than 200 characters."],
    [{ type: "a\nb" }, "invalid_field", "The field type contains control characters."],
    [
      { type: "x", data: [] },
      "invalid_field",
      "The field data must be an object, but is an array.",
    ],
    [{ type: "x", data: null }, "invalid_field", "The field data must be an object, but is null."],
    [
      { type: "x", data: "{}" },
      "invalid_field",
      "The field data must be an object, but is a string.",
    ],
    [{ type: "x", id: 7 }, "invalid_field", "The field id must be a string, but is a number."],
    [
      { type: "x", id: "i".repeat(501) },
      "invalid_field",
      "The field id is longer than 500 characters.",
    ],
    [{ type: "x", id: "\u0000" }, "invalid_field", "The field id contains control characters."],
    [{ type: "x", id: "\ud800" }, "invalid_field", "The field id contains an unpaired surrogate"],
    [
      { type: "x", timestamp: 1 },
      "invalid_field",
      "The field timestamp must be a string, but is a number.",
    ],
    [
      { type: "x", timestamp: "1".repeat(101) },
      "invalid_field",
      "The field timestamp is longer than 100 characters.",
    ],
    [[], "not_an_object", "an array"],
    ["text", "not_an_object", "a string"],
  ])("%j", (body, reason, detail) => {
    expect(parse(body)).toMatchObject({ reason, detail: expect.stringContaining(detail) });
  });

  it.each([
    ["", "empty_body"],
    ["{", "invalid_json"],
    ['{"type":"x"} {}', "invalid_json"],
    [`{"type":"x","data":${'{"a":'.repeat(200)}1${"}".repeat(200)}}`, "too_deep"],
  ])("the text %s", (text, reason) => {
    expect(parseCallback(utf8(text))).toMatchObject({ reason });
  });

  it("bytes that are not UTF-8", () => {
    const bytes = Uint8Array.from([...utf8('{"type":"'), 0xff, ...utf8('"}')]);
    expect(parseCallback(bytes)).toMatchObject({ reason: "invalid_utf8" });
  });
});

describe("parseCallback, for any input,", () => {
  it("returns the parsed data and the bytes of the same data", () => {
    const data = fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true });
    fc.assert(
      fc.property(fc.string({ minLength: 1 }), data, (name, value) => {
        const text = JSON.stringify({ [name]: value, type: "x", data: value });
        const parsed = parseValid(utf8(text));
        expect(JSON.parse(textOf(parsed))).toEqual(parsed.data);
        expect(parsed.data).toEqual(JSON.parse(text).data);
      }),
    );
  });

  it("never throws, and ends the detail of a rejection with a period", () => {
    const field = fc.oneof(fc.jsonValue(), fc.string(), fc.constant(undefined));
    const body = fc.record(
      { type: field, data: field, id: field, timestamp: field },
      { requiredKeys: [], noNullPrototype: true },
    );
    const bytes = fc.oneof(
      fc.uint8Array(),
      fc.string().map(utf8),
      body.map((value) => utf8(JSON.stringify(value))),
    );
    fc.assert(
      fc.property(bytes, (input) => {
        const parsed = parseCallback(input);
        if (isRejection(parsed)) expect(parsed.detail).toMatch(/\.$/);
        else expect(parsed.type.trim()).not.toBe("");
      }),
    );
  });
});

const LONG = "ü".repeat(LARGE_BYTES);
const token = { connection: "weather-7kq2xv", subscription: "s1" };
const assigned = { id: "e1", external_id: null, received_at: 1 };

it.each([
  `{"type":"rain","data":{"title":"It rains","repo":"octo/town","text":"${LONG}"},"id":"1"}`,
  `{"text":"${LONG}","type":"rain","timestamp":"2026-01-05","data":{"n":12345678901234567890}}`,
  `{"type":"rain","text":"${LONG}"}`,
])("reads a large callback with the same result as a small one: case %#", async (text) => {
  const small = parseCallback(utf8(text));
  const large = await readLargeCallback(testRunJob, "acme", utf8(text));
  if (isRejection(small) || isRejection(large)) throw new Error("rejected");
  expect(large).not.toHaveProperty("data");
  const expected = toEvent(small, token, assigned);
  const actual = toEvent(large, token, assigned);
  expect({ ...actual, body: Buffer.from(actual.body).toString() }).toEqual({
    ...expected,
    body: Buffer.from(expected.body).toString(),
  });
  expect(large.id).toBe(small.id);
});

it("rejects an invalid large callback like a small one", async () => {
  const text = `{"type":7,"text":"${LONG}"}`;
  expect(await readLargeCallback(testRunJob, "acme", utf8(text))).toEqual(
    parseCallback(utf8(text)),
  );
});
