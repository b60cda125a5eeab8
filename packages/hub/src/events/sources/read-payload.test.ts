import { LARGE_BYTES, LargeJson } from "@signalbox/rules/large-json.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { testRunJob } from "../../flows/test-run-job.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import { cloudevents } from "./cloudevents.ts";
import { loadPayload, readPayload } from "./read-payload.ts";
import { decodeOne } from "./test-request.ts";

const read = (
  source: string,
  content_type: string,
  body: string | Uint8Array,
  headers: Record<string, string> = {},
) =>
  readPayload(source, {
    content_type,
    headers,
    body: typeof body === "string" ? utf8(body) : body,
  });

describe("readPayload", () => {
  it("returns any JSON value", () => {
    expect(read("github", "application/json; charset=utf-8", '{"a":[1]}')).toEqual({ a: [1] });
    expect(read("stripe", "application/vnd.x+json", "[1]")).toEqual([1]);
    expect(read("generic", "application/json", "null")).toBeNull();
  });

  it("returns the fields of a form, or the JSON in its payload", () => {
    const type = "application/x-www-form-urlencoded; charset=utf-8";
    expect(read("slack", type, "command=%2Flamp&text=a+b")).toEqual({
      command: "/lamp",
      text: "a b",
    });
    expect(read("github", type, "payload=%7B%22action%22%3A%22opened%22%7D")).toEqual({
      action: "opened",
    });
  });

  it("returns base64 for other content", () => {
    expect(read("github", "application/json", "{")).toEqual({ data_base64: "ew==" });
    expect(read("github", "application/json", "")).toEqual({ data_base64: "" });
    expect(read("github", "application/json", new Uint8Array([0xff]))).toEqual({
      data_base64: "/w==",
    });
    expect(read("github", "application/json", "[".repeat(5_000))).toHaveProperty("data_base64");
    expect(read("github", "application/x-www-form-urlencoded", "payload=%7B")).toHaveProperty(
      "data_base64",
    );
  });

  const binary = {
    "ce-id": "1",
    "ce-source": "/s%20t",
    "ce-type": "t",
    "ce-specversion": "1.0",
    "ce-x": "y",
  };
  const attributes = { id: "1", source: "/s t", type: "t", specversion: "1.0", x: "y" };

  it("returns a CloudEvent in JSON form for every mode", () => {
    const event = { ...attributes, data: [1] };
    expect(read("cloudevents", "application/cloudevents+json", JSON.stringify(event))).toEqual(
      event,
    );
    expect(read("cloudevents", "application/json", "[1]", binary)).toEqual({
      ...event,
      datacontenttype: "application/json",
    });
    expect(read("cloudevents", "text/plain; charset=utf-8", "hi", binary)).toEqual({
      ...attributes,
      datacontenttype: "text/plain; charset=utf-8",
      data: "hi",
    });
    expect(read("cloudevents", "image/png", new Uint8Array([0, 255]), binary)).toEqual({
      ...attributes,
      datacontenttype: "image/png",
      data_base64: "AP8=",
    });
    expect(read("cloudevents", "", "", binary)).toEqual(attributes);
  });

  it("returns the same value as decoding the request", () => {
    const headers = { ...binary, "content-type": "application/json" };
    const event = decodeOne(cloudevents, { headers, body: utf8('{"on":true}') });
    expect(read("cloudevents", "application/json", '{"on":true}', event.headers)).toEqual(
      event.body,
    );
  });

  it("never throws", () => {
    const type = fc.constantFrom(
      "application/json",
      "application/x-www-form-urlencoded",
      "application/cloudevents+json",
      "text/plain",
      "image/png",
      "",
      ";",
    );
    const source = fc.constantFrom("github", "slack", "cloudevents", "generic", "unknown");
    const headers = fc.dictionary(
      fc.constantFrom("ce-id", "ce-x", "ce-__proto__", "x"),
      fc.string(),
    );
    fc.assert(
      fc.property(source, type, fc.uint8Array(), headers, (source, type, body, headers) => {
        expect(JSON.stringify(read(source, type, body, headers))).toBeTypeOf("string");
      }),
    );
  });
});

const long = "ü".repeat(LARGE_BYTES);
const load = (source: string, content_type: string, text: string, headers = {}) => {
  const payload = { content_type, headers, body: utf8(text) };
  return {
    loaded: loadPayload(testRunJob, { tenant: "acme", source, payload }),
    read: readPayload(source, payload),
  };
};
const binary = { "ce-specversion": "1.0", "ce-id": "1", "ce-source": "/a", "ce-type": "b" };

it("parses a small payload", () => {
  expect(load("github", "application/json", '{"a":1}').loaded).toEqual({ a: 1 });
});

it("does not parse large JSON", () => {
  const text = `{ "a": "${long}" }`;
  expect(load("github", "application/json", text).loaded).toEqual(new LargeJson(text));
});

it.each<[string, string, string, object?]>([
  ["slack", "application/x-www-form-urlencoded", `a=${long}`],
  ["github", "application/x-www-form-urlencoded; charset=utf-8", `payload={"a":"${long}"}`],
  ["cloudevents", "application/json", `{"a":"${long}"}`, binary],
  ["cloudevents", "text/plain", long, binary],
])("converts a large payload of %s as %s in a job", async (source, type, text, headers) => {
  const { loaded, read } = load(source, type, text, headers);
  expect(loaded).toBeInstanceOf(Promise);
  expect(JSON.parse(((await loaded) as LargeJson).text)).toEqual(read);
});

it("names the field payload in the error if a large payload is not converted in time", async () => {
  const payload = {
    content_type: "application/x-www-form-urlencoded",
    headers: {},
    body: utf8(`a=${long}`),
  };
  const message = "exceeds the time limit of 10 s";
  const loaded = loadPayload(async () => ({ log: [], error: "code_timeout", message }), {
    tenant: "acme",
    source: "slack",
    payload,
  });
  const error = await Promise.resolve(loaded).catch((reason: unknown) => reason);
  expect(error).toBeInstanceOf(RequestError);
  expect(error).toMatchObject({ field: "payload", message: expect.stringContaining(message) });
});
