import type { JsonObject } from "@signalbox/rules/json.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { utf8 } from "../../lib/hmac.ts";
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
const inHeaders = (
  headers: Record<string, string>,
  body: unknown = {},
  type = "application/json",
) => decode(cloudevents, send(type, body, headers));

describe("structured mode", () => {
  it("takes an event with data of any kind", () => {
    for (const data of [{ a: 1 }, [1], "text", 7, false, null, undefined]) {
      const body = { ...event, data } as JsonObject;
      const reading = decodeOne(cloudevents, structured(body));
      expect(reading).toEqual({
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
    ["id", "", 'id must be a text that is not empty, but is "".'],
    ["id", null, "id must be a text that is not empty, but is null."],
    ["id", 7, "id must be a text that is not empty, but is 7."],
    ["source", undefined, "source must be a text that is not empty, but is missing."],
    ["type", {}, "type must be a text that is not empty, but is {}."],
    ["data_base64", 3, "data_base64 must be a text."],
  ])("refuses %s = %j", (name, value, detail) => {
    const answer = decode(cloudevents, structured({ ...event, [name]: value }));
    expect(answer).toEqual({ outcome: "refused", reason: "invalid_field", detail });
  });

  it("refuses data in two forms, but not an unset one", () => {
    const answer = decode(cloudevents, structured({ ...event, data: 1, data_base64: "AA==" }));
    expect(answer).toMatchObject({ reason: "invalid_field" });
    decodeOne(cloudevents, structured({ ...event, data: 1, data_base64: null }));
    decodeOne(cloudevents, structured({ ...event, data_base64: "AA==" }));
  });

  it.each(["A", "AA", "AAA", "AA=A", "A===", "AA==\n", "A-_A", "é===", " AAA"])(
    "refuses data_base64 = %j, which is none",
    (data_base64) => {
      expect(decode(cloudevents, structured({ ...event, data_base64 }))).toMatchObject({
        reason: "invalid_field",
        detail: "data_base64 is not base64.",
      });
    },
  );

  it("takes data_base64 of any size", () => {
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
  ])("refuses time = %j", (time) => {
    expect(decode(cloudevents, structured({ ...event, time }))).toMatchObject({
      reason: "invalid_field",
      detail: expect.stringContaining("time must be as in"),
    });
    expect(inHeaders({ ...binary, "ce-time": String(time) })).toMatchObject({
      reason: "invalid_header",
    });
  });

  it.each([
    "2026-01-05T09:30:00Z",
    "2026-01-05T09:30:00.123456789+05:30",
    "2016-12-31t23:59:60z",
    null,
  ])("takes time = %j", (time) => {
    decodeOne(cloudevents, structured({ ...event, time }));
  });

  it("refuses what is no object, no JSON, or another format", () => {
    expect(decode(cloudevents, structured([event]))).toMatchObject({ reason: "not_an_object" });
    expect(decode(cloudevents, structured("{"))).toMatchObject({ reason: "invalid_json" });
    expect(decode(cloudevents, send("application/cloudevents+xml", "<x/>"))).toMatchObject({
      reason: "unsupported_media_type",
    });
  });

  it("tells apart what a careless joining of source and id would not", () => {
    const ids = [
      ["/a/b", "c"],
      ["/a", "b/c"],
      ["/a", '","'],
      ['/a","', ""],
      ["/a b", "c"],
    ].flatMap(([source = "", id = ""]) => {
      const readings = decode(cloudevents, structured({ ...event, source, id: id || "x" }));
      return Array.isArray(readings) ? readings.map(({ externalId }) => externalId) : [];
    });
    expect(new Set(ids).size).toBe(5);
  });

  it("has a summary", () => {
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
  it("gives each event with its own bytes", () => {
    const text = `[${JSON.stringify(event)}, {"specversion":"1.0","id":"B","source":"s","type":"u","data":12345678901234567890}]`;
    const readings = decode(cloudevents, batch(text));
    if (!Array.isArray(readings)) throw new Error(JSON.stringify(readings));
    expect(readings.map(({ type, externalId }) => [type, externalId])).toEqual([
      ["com.example.lamp", '["/tracks/3","A-1"]'],
      ["u", '["s","B"]'],
    ]);
    expect(new TextDecoder().decode(readings[1]?.part?.bytes)).toContain("12345678901234567890");
    expect(readings.map(({ part }) => part?.contentType)).toEqual([
      "application/cloudevents+json",
      "application/cloudevents+json",
    ]);
    expect(readings.map(({ body }) => body.id)).toEqual(["A-1", "B"]);
  });

  it("refuses all for one, and says which", () => {
    expect(decode(cloudevents, batch([event, { ...event, source: "" }, {}]))).toEqual({
      outcome: "refused",
      reason: "invalid_field",
      detail: 'event 1 of the batch: source must be a text that is not empty, but is "".',
    });
    expect(decode(cloudevents, batch([event, "x"]))).toMatchObject({
      detail: "event 1 of the batch: a CloudEvent must be a JSON object.",
    });
  });

  it("takes up to a hundred", () => {
    const many = (count: number) =>
      batch(Array.from({ length: count }, (_, index) => ({ ...event, id: String(index) })));
    expect(decode(cloudevents, many(100))).toHaveLength(100);
    expect(decode(cloudevents, many(101))).toMatchObject({
      outcome: "refused",
      reason: "invalid_field",
    });
  });

  it("answers an empty one, and refuses what is no array", () => {
    expect(decode(cloudevents, batch([]))).toEqual({ outcome: "pong" });
    expect(decode(cloudevents, batch(event))).toMatchObject({ reason: "invalid_field" });
    expect(decode(cloudevents, batch(""))).toMatchObject({ reason: "empty_body" });
  });
});

describe("binary mode", () => {
  it("reads the attributes from headers, extensions too, and keeps these", () => {
    const headers = {
      ...binary,
      "ce-subject": "lamp%207",
      "ce-traceparent": "00-ab",
      "ce-time": "2026-01-05T09:30:00Z",
    };
    const reading = decodeOne(
      cloudevents,
      send(
        "application/json; charset=utf-8",
        { on: true },
        { ...headers, "x-other": "no", "ce-bad_name": "no" },
      ),
    );
    expect(reading).toEqual({
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
  ])("takes data of type %j: %j", (type, body, data) => {
    const { datacontenttype: _, ...rest } = decodeOne(cloudevents, send(type, body, binary)).body;
    expect(rest).toEqual({ ...event, ...data });
  });

  it("takes bytes that are no text, whatever they are said to be", () => {
    const body = new Uint8Array([0xff, 0xfe]);
    const headers = { ...binary, "content-type": "text/plain" };
    expect(decodeOne(cloudevents, { headers, body }).body).toMatchObject({ data_base64: "//4=" });
  });

  it("refuses JSON that is none", () => {
    expect(inHeaders(binary, "{")).toMatchObject({ reason: "invalid_json" });
  });

  it("refuses what lacks an attribute, and says which header", () => {
    const { "ce-specversion": _, ...rest } = binary;
    expect(inHeaders(rest)).toMatchObject({
      reason: "missing_header",
      detail: expect.stringContaining("ce-specversion"),
    });
    for (const name of ["ce-id", "ce-source", "ce-type"])
      expect(inHeaders({ ...binary, [name]: "" }), name).toMatchObject({
        reason: "invalid_header",
        detail: expect.stringContaining(`${name.slice(3)} must be`),
      });
    expect(inHeaders({ ...binary, "ce-specversion": "0.3" })).toMatchObject({
      reason: "invalid_header",
    });
  });

  it("does not let headers speak for the data", () => {
    const reading = decodeOne(
      cloudevents,
      send("application/json", "1", {
        ...binary,
        "ce-data": "x",
        "ce-datacontenttype": "text/plain",
      }),
    );
    expect(reading.body).toMatchObject({ data: 1, datacontenttype: "application/json" });
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
      expect(inHeaders({ ...binary, "ce-x": value })).toMatchObject({
        reason: "invalid_header",
        detail: expect.stringContaining("ce-x"),
      });
  });

  it("decodes whatever a sender encodes", () => {
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
  const shake = (headers: Record<string, string>) =>
    cloudevents.handshake?.((name) => headers[name]);

  it("allows the sender at the rate that it asks for, up to ours", () => {
    const origin = "eventemitter.example.com";
    const rate = (asked: string | undefined) =>
      shake({
        "webhook-request-origin": origin,
        ...(asked ? { "webhook-request-rate": asked } : {}),
      });
    expect(rate("120")).toEqual({
      outcome: "handshake",
      headers: { allow: "POST", "webhook-allowed-origin": origin, "webhook-allowed-rate": "120" },
    });
    for (const asked of [undefined, "999999", "0", "-1", "*", "many", "1".repeat(400)])
      expect(rate(asked)).toMatchObject({ headers: { "webhook-allowed-rate": "6000" } });
  });

  it("wants to know who asks, and puts nothing strange in its answer", () => {
    expect(shake({})).toMatchObject({ outcome: "refused", reason: "missing_header" });
    for (const origin of ["a\r\nset-cookie: x", "ä", "a b", "x".repeat(300)])
      expect(shake({ "webhook-request-origin": origin })).toMatchObject({
        reason: "invalid_header",
      });
  });
});
