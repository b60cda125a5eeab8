import { LARGE_BYTES, LargeJson } from "@signalbox/rules/large-json.ts";
import { expect, it } from "vitest";
import { testRunJob } from "../../flows/test-run-job.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import { loadPayload } from "./load-payload.ts";
import { readPayload } from "./read-payload.ts";

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
