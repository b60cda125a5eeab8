import type { JsonObject } from "@signalbox/rules/json.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { utf8 } from "../../kernel/lib/bytes.ts";
import * as elements from "./cloudevents.ts";
import { cloudevents } from "./cloudevents.ts";
import { decodeHeaderValue } from "./cloudevents-format.ts";
import { decode, decodeOne } from "./test-request.ts";

const event: JsonObject = {
  specversion: "1.0",
  id: "A-1",
  source: "/tracks/3",
  type: "com.example.lamp",
};
const binary: Record<string, string> = {
  "ce-specversion": "1.0",
  "ce-id": "A-1",
  "ce-source": "/tracks/3",
  "ce-type": "com.example.lamp",
};
const send = (contentType: string, body: unknown, headers: Record<string, string> = {}) => ({
  headers: { ...(contentType ? { "content-type": contentType } : {}), ...headers },
  body: utf8(typeof body === "string" ? body : JSON.stringify(body)),
});
const structured = (body: unknown) => send("application/cloudevents+json; charset=utf-8", body);
const batch = (body: unknown) => send("application/cloudevents-batch+json", body);
const decodeBinary = (
  headers: Record<string, string>,
  body: unknown = {},
  type = "application/json",
) => decode(cloudevents, send(type, body, headers));

describe("structured mode", () => {
  it("accepts data of any JSON type", () => {
    for (const data of [{ a: 1 }, [1], "text", 7, false, null, undefined]) {
      const body = { ...event, data } as JsonObject;
      const decoded = decodeOne(cloudevents, structured(body));
      expect(decoded).toEqual({
        type: "com.example.lamp",
        externalId: '["/tracks/3","A-1"]',
        body: JSON.parse(JSON.stringify(body)),
      });
    }
  });

  it.each([
    ["specversion", undefined, 'specversion must be "1.0", but is missing.'],
    ["specversion", "0.3", 'specversion must be "1.0", but is "0.3".'],
    ["specversion", 1, 'specversion must be "1.0", but is 1.'],
    ["id", "", 'id must be a non-empty string, but is "".'],
    ["id", null, "id must be a non-empty string, but is null."],
    ["id", 7, "id must be a non-empty string, but is 7."],
    ["source", undefined, "source must be a non-empty string, but is missing."],
    ["type", {}, "type must be a non-empty string, but is {}."],
    ["data_base64", 3, "data_base64 must be a string."],
  ])("rejects %s = %j", (name, value, detail) => {
    const rejected = decode(cloudevents, structured({ ...event, [name]: value }));
    expect(rejected).toEqual({ outcome: "rejected", reason: "invalid_field", detail });
  });

  it("rejects data together with data_base64, but accepts a null data_base64", () => {
    const rejected = decode(cloudevents, structured({ ...event, data: 1, data_base64: "AA==" }));
    expect(rejected).toMatchObject({ reason: "invalid_field" });
    decodeOne(cloudevents, structured({ ...event, data: 1, data_base64: null }));
    decodeOne(cloudevents, structured({ ...event, data_base64: "AA==" }));
  });

  it.each(["A", "AA", "AAA", "AA=A", "A===", "AA==\n", "A-_A", "é===", " AAA"])(
    "rejects invalid data_base64 = %j",
    (data_base64) => {
      expect(decode(cloudevents, structured({ ...event, data_base64 }))).toMatchObject({
        reason: "invalid_field",
        detail: "data_base64 is not base64.",
      });
    },
  );

  it("accepts data_base64 of any size", () => {
    for (const data_base64 of ["", "AAA=", "+/+/", "A".repeat(1024 * 1024)])
      decodeOne(cloudevents, structured({ ...event, data_base64 }));
  });

  it.each([
    "",
    "t",
    "2026-01-05",
    "2026-01-05 09:30:00Z",
    "2026-01-05T09:30:00",
    "2026-13-05T09:30:00Z",
    "2026-01-05T25:30:00Z",
    "Mon, 05 Jan 2026 09:30:00 GMT",
    1767605400,
  ])("rejects time = %j", (time) => {
    expect(decode(cloudevents, structured({ ...event, time }))).toMatchObject({
      reason: "invalid_field",
      detail: expect.stringContaining("time must be an RFC 3339 timestamp"),
    });
    expect(decodeBinary({ ...binary, "ce-time": String(time) })).toMatchObject({
      reason: "invalid_header",
    });
  });

  it.each([
    "2026-01-05T09:30:00Z",
    "2026-01-05T09:30:00.123456789+05:30",
    "2016-12-31t23:59:60z",
    null,
  ])("accepts time = %j", (time) => {
    decodeOne(cloudevents, structured({ ...event, time }));
  });

  it("rejects arrays, invalid JSON and other formats", () => {
    expect(decode(cloudevents, structured([event]))).toMatchObject({ reason: "not_an_object" });
    expect(decode(cloudevents, structured("{"))).toMatchObject({ reason: "invalid_json" });
    expect(decode(cloudevents, send("application/cloudevents+xml", "<x/>"))).toMatchObject({
      reason: "unsupported_media_type",
    });
  });

  it("encodes source and id unambiguously", () => {
    const ids = [
      ["/a/b", "c"],
      ["/a", "b/c"],
      ["/a", '","'],
      ['/a","', ""],
      ["/a b", "c"],
    ].flatMap(([source = "", id = ""]) => {
      const events = decode(cloudevents, structured({ ...event, source, id: id || "x" }));
      return Array.isArray(events) ? events.map(({ externalId }) => externalId) : [];
    });
    expect(new Set(ids).size).toBe(5);
  });

  it("summarizes events by subject and data", () => {
    const summary = (more: JsonObject) => cloudevents.summarize("t", { ...event, ...more });
    expect(
      summary({ subject: "lamp-7", data: { title: "x", url: "https://x/7", action: "on" } }),
    ).toEqual({
      action: "on",
      repo: null,
      sender: "/tracks/3",
      number: null,
      title: "lamp-7",
      url: "https://x/7",
    });
    expect(summary({ subject: { no: "text" }, data: { title: "x" } }).title).toBe("x");
    expect(summary({ data: "text" }).title).toBeNull();
  });
});

describe("batched mode", () => {
  it("returns each event with its original bytes", () => {
    const text = `[${JSON.stringify(event)}, {"specversion":"1.0","id":"B","source":"s","type":"u","data":12345678901234567890}]`;
    const events = decode(cloudevents, batch(text));
    if (!Array.isArray(events)) throw new Error(JSON.stringify(events));
    expect(events.map(({ type, externalId }) => [type, externalId])).toEqual([
      ["com.example.lamp", '["/tracks/3","A-1"]'],
      ["u", '["s","B"]'],
    ]);
    const { start, end } = events[1]?.part ?? {};
    expect(Buffer.from(text).subarray(start, end).toString()).toBe(
      '{"specversion":"1.0","id":"B","source":"s","type":"u","data":12345678901234567890}',
    );
    expect(events.map(({ part }) => part?.contentType)).toEqual([
      "application/cloudevents+json",
      "application/cloudevents+json",
    ]);
    expect(events.map(({ body }) => body.id)).toEqual(["A-1", "B"]);
  });

  it("rejects the batch for one invalid event and names its position", () => {
    expect(decode(cloudevents, batch([event, { ...event, source: "" }, {}]))).toEqual({
      outcome: "rejected",
      reason: "invalid_field",
      detail: 'event 1 of the batch: source must be a non-empty string, but is "".',
    });
    expect(decode(cloudevents, batch([event, "x"]))).toMatchObject({
      detail: "event 1 of the batch: a CloudEvent must be a JSON object.",
    });
  });

  it("accepts at most 100 events", () => {
    const many = (count: number) =>
      batch(Array.from({ length: count }, (_, index) => ({ ...event, id: String(index) })));
    expect(decode(cloudevents, many(100))).toHaveLength(100);
    expect(decode(cloudevents, many(101))).toMatchObject({
      outcome: "rejected",
      reason: "invalid_field",
    });
  });

  it("accepts an empty batch, and rejects a body that is not an array", () => {
    expect(decode(cloudevents, batch([]))).toEqual({ outcome: "pong" });
    expect(decode(cloudevents, batch(event))).toMatchObject({ reason: "invalid_field" });
    expect(decode(cloudevents, batch(""))).toMatchObject({ reason: "empty_body" });
  });
});

describe("binary mode", () => {
  it("reads attributes and extensions from headers, and stores the headers", () => {
    const headers = {
      ...binary,
      "ce-subject": "lamp%207",
      "ce-traceparent": "00-ab",
      "ce-time": "2026-01-05T09:30:00Z",
    };
    const decoded = decodeOne(
      cloudevents,
      send(
        "application/json; charset=utf-8",
        { on: true },
        { ...headers, "x-other": "no", "ce-bad_name": "no" },
      ),
    );
    expect(decoded).toEqual({
      type: "com.example.lamp",
      externalId: '["/tracks/3","A-1"]',
      body: {
        ...event,
        subject: "lamp 7",
        traceparent: "00-ab",
        time: "2026-01-05T09:30:00Z",
        datacontenttype: "application/json; charset=utf-8",
        data: { on: true },
      },
      headers: { ...headers, "ce-bad_name": "no" },
      inHeaders: ["type", "externalId"],
    });
  });

  it.each([
    ["application/json", "[1,2]", { data: [1, 2] }],
    ["application/vnd.x+json", '"x"', { data: "x" }],
    ["", "7", { data: 7 }],
    ["text/plain", "hällo", { data: "hällo" }],
    ["application/xml", "<x/>", { data: "<x/>" }],
    ["image/png", "png", { data_base64: "cG5n" }],
    ["application/json", "", {}],
  ])("accepts data of type %j: %j", (type, body, data) => {
    const { datacontenttype: _, ...rest } = decodeOne(cloudevents, send(type, body, binary)).body;
    expect(rest).toEqual({ ...event, ...data });
  });

  it("accepts bytes that are not valid UTF-8 under any content type", () => {
    const body = new Uint8Array([0xff, 0xfe]);
    const headers = { ...binary, "content-type": "text/plain" };
    expect(decodeOne(cloudevents, { headers, body }).body).toMatchObject({ data_base64: "//4=" });
  });

  it("rejects invalid JSON", () => {
    expect(decodeBinary(binary, "{")).toMatchObject({ reason: "invalid_json" });
  });

  it("rejects a missing attribute and names the header", () => {
    const { "ce-specversion": _, ...withoutVersion } = binary;
    expect(decodeBinary(withoutVersion)).toMatchObject({
      reason: "missing_header",
      detail: expect.stringContaining("ce-specversion"),
    });
    for (const name of ["ce-id", "ce-source", "ce-type"])
      expect(decodeBinary({ ...binary, [name]: "" }), name).toMatchObject({
        reason: "invalid_header",
        detail: expect.stringContaining(`${name.slice(3)} must be`),
      });
    expect(decodeBinary({ ...binary, "ce-specversion": "0.3" })).toMatchObject({
      reason: "invalid_header",
    });
  });

  it("ignores headers named ce-data and ce-datacontenttype", () => {
    const decoded = decodeOne(
      cloudevents,
      send("application/json", "1", {
        ...binary,
        "ce-data": "x",
        "ce-datacontenttype": "text/plain",
      }),
    );
    expect(decoded.body).toMatchObject({ data: 1, datacontenttype: "application/json" });
    const { body } = decodeOne(
      cloudevents,
      send("", "", { ...binary, "ce-data": "x", "ce-datacontenttype": "text/plain" }),
    );
    expect(body).toEqual(event);
  });

  it.each([
    ["Euro%20%E2%82%AC%20%F0%9F%98%80", "Euro € 😀"],
    ["%e2%82%ac", "€"],
    ["%41", "A"],
    ["%2541", "%41"],
    ['"quoted value"', "quoted value"],
    ['"a \\"b\\" \\\\ %20c"', 'a "b" \\  c'],
    ['half "quoted"', 'half "quoted"'],
    ["%C0%A0", undefined],
    ["%FF", undefined],
    ["%ED%A0%80", undefined],
    ["100%", undefined],
    ["%zz", undefined],
    ["Zoë", undefined],
    ["\u0000", undefined],
  ])("decodes the header value %j to %j", (value, decoded) => {
    expect(decodeHeaderValue(value)).toBe(decoded);
    if (decoded === undefined)
      expect(decodeBinary({ ...binary, "ce-x": value })).toMatchObject({
        reason: "invalid_header",
        detail: expect.stringContaining("ce-x"),
      });
  });

  it("decodes any value that a sender encodes", () => {
    const encode = (text: string) =>
      [...text]
        .map((character) =>
          /[!#$&-~]/.test(character) ? character : encodeURIComponent(character),
        )
        .join("");
    fc.assert(
      fc.property(fc.string({ unit: "grapheme" }), (text) => {
        fc.pre(text.isWellFormed());
        expect(decodeHeaderValue(encode(text))).toBe(text);
      }),
    );
  });
});

describe("the handshake", () => {
  const handshake = (headers: Record<string, string>) =>
    cloudevents.handshake?.((name) => headers[name]);

  it("allows the requested rate up to the hub's limit", () => {
    const origin = "eventemitter.example.com";
    const rate = (requested: string | undefined) =>
      handshake({
        "webhook-request-origin": origin,
        ...(requested ? { "webhook-request-rate": requested } : {}),
      });
    expect(rate("120")).toEqual({
      outcome: "handshake",
      headers: { allow: "POST", "webhook-allowed-origin": origin, "webhook-allowed-rate": "120" },
    });
    for (const requested of [undefined, "999999", "0", "-1", "*", "many", "1".repeat(400)])
      expect(rate(requested)).toMatchObject({ headers: { "webhook-allowed-rate": "600000" } });
  });

  it("requires a valid WebHook-Request-Origin", () => {
    expect(handshake({})).toMatchObject({ outcome: "rejected", reason: "missing_header" });
    for (const origin of ["a\r\nset-cookie: x", "ä", "a b", "x".repeat(300)])
      expect(handshake({ "webhook-request-origin": origin })).toMatchObject({
        reason: "invalid_header",
      });
  });
});

const jsonElements = (text: string) =>
  elements.jsonElements(text).map(({ start, end }) => text.slice(start, end));

it("splits an array into the elements that a parser finds", () => {
  const space = fc.constantFrom("", " ", "\n\t");
  fc.assert(
    fc.property(fc.array(fc.jsonValue()), space, fc.nat(2), (values, gap, indent) => {
      const text = `${gap}[${values.map((value) => gap + JSON.stringify(value, null, indent) + gap).join(",")}]${gap}`;
      expect(jsonElements(text).map((element) => JSON.parse(element))).toEqual(JSON.parse(text));
    }),
  );
});

it("preserves numbers that a parser would change", () => {
  expect(
    jsonElements('[ {"n": 12345678901234567890, "x":1.0}, "a,]\\"\\\\", [1,[2]] ,-0]'),
  ).toEqual(['{"n": 12345678901234567890, "x":1.0}', '"a,]\\"\\\\"', "[1,[2]]", "-0"]);
});

it.each(["[]", " [ \n ] "])("returns an empty list for %j", (text) => {
  expect(jsonElements(text)).toEqual([]);
});
