import type { JsonObject } from "@signalbox/rules/json.ts";
import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import { expect, it } from "vitest";
import { testRunJob } from "../../flows/test-run-job.ts";
import { mediaType } from "../../kernel/http/decode.ts";
import { createHeaderReader } from "../../kernel/http/header-reader.ts";
import type { RunJob } from "../../kernel/jobs/job.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";
import { sources } from "../sources/index.ts";
import { readLargeWebhook, readWebhook, type WebhookToRead } from "./read-webhook.ts";
import type { SourceDefinition } from "./source.ts";

const NOW = Date.UTC(2026, 0, 5);
const LONG = "ü".repeat(LARGE_BYTES);

interface ReadLargeOptions extends Partial<WebhookToRead> {
  runJob?: RunJob;
  bytes: Uint8Array;
}

const toRead = (
  source: SourceDefinition,
  overrides: Partial<WebhookToRead> = {},
): WebhookToRead => ({
  source: source.id,
  contentType: "application/json",
  headers: {},
  config: source.config?.parse({}) ?? {},
  isSigned: true,
  now: NOW,
  maxValues: 1_000_000,
  ...overrides,
});
const readLarge = (source: SourceDefinition, { runJob, bytes, ...webhook }: ReadLargeOptions) =>
  readLargeWebhook(runJob ?? testRunJob, toRead(source, webhook), { bytes, queue: "local" });
const github = sources.find(({ id }) => id === "github") as SourceDefinition;
const cloudevents = sources.find(({ id }) => id === "cloudevents") as SourceDefinition;

/** Reads a webhook here and in a job, expects the same result, and returns it. */
async function readBoth(source: SourceDefinition, webhook: WebhookToRead, bytes: Uint8Array) {
  const { contentType, config } = webhook;
  const { header } = createHeaderReader((name) => webhook.headers[name] ?? []);
  const headerNames = () => Object.keys(webhook.headers);
  const small = readWebhook(source, { contentType, config, header, headerNames, bytes }, webhook);
  const large = await readLargeWebhook(testRunJob, webhook, { bytes, queue: "local" });
  if ("outcome" in small || "outcome" in large) {
    expect(large).toEqual(small);
    return small;
  }
  expect(large.events).toEqual(small.events);
  expect([large.installation(), large.skipsQuota()]).toEqual([
    small.installation(),
    small.skipsQuota(),
  ]);
  expect(small.data).toHaveLength(large.events.length);
  return large;
}

it.each(sources.map((source) => [source.id, source] as const))(
  "reads a large webhook of %s with the same result as a small one",
  async (_, source) => {
    const sample = source.sample("id-1", { now: NOW });
    if (!sample) throw new Error("no sample");
    const body = { ...sample.body, padding: LONG, installation: { id: 7, account: { id: 8 } } };
    const headers = Object.fromEntries(
      Object.entries({ "webhook-id": "1", ...sample.headers }).map(([name, value]) => [
        name.toLowerCase(),
        [value],
      ]),
    );
    const contentType = mediaType(sample.headers["content-type"] ?? "");
    const bytes = utf8(JSON.stringify(body));
    const read = await readBoth(source, toRead(source, { headers, contentType }), bytes);
    expect(read).toMatchObject({ events: [{ summary: expect.anything() }] });
    expect(JSON.stringify(read).length).toBeLessThan(5_000);
  },
);

it("returns the bytes of each event of a large batch", async () => {
  const event = (id: string): JsonObject => ({
    specversion: "1.0",
    id,
    source: "/ü",
    type: "t",
    data: LONG,
  });
  const contentType = "application/cloudevents-batch+json";
  const bytes = utf8(JSON.stringify([event("1"), event("2")]));
  const read = await readBoth(cloudevents, toRead(cloudevents, { contentType }), bytes);
  if ("outcome" in read) throw new Error("not read");
  const parts = read.events.map(({ part }) =>
    JSON.parse(Buffer.from(bytes.subarray(part?.start, part?.end)).toString()),
  );
  expect(parts).toEqual([event("1"), event("2")]);
});

it("rejects a repeated header, invalid JSON, and an old time of sending in a large webhook", async () => {
  const headers = { "x-github-event": ["push"], "x-github-delivery": ["1", "2"] };
  expect(await readLarge(github, { headers, bytes: utf8("{}") })).toMatchObject({
    reason: "duplicate_header",
  });
  const invalid = utf8(`{"a":"${LONG}"`);
  await readBoth(github, toRead(github), invalid);
  expect(await readLarge(github, { bytes: invalid })).toMatchObject({ reason: "invalid_json" });
  const linear = sources.find(({ id }) => id === "linear") as SourceDefinition;
  const sample = linear.sample("1", { now: NOW - 3_600_000 })?.body;
  const old = { headers: { "linear-delivery": ["1"], "linear-event": ["Issue"] } };
  expect(await readLarge(linear, { ...old, bytes: utf8(JSON.stringify(sample)) })).toMatchObject({
    reason: "signature_expired",
  });
});

it.each(["application/json", "application/x-www-form-urlencoded"])(
  "rejects a body of type %s with too many values",
  async (contentType) => {
    const json = `{"a":[${"{},".repeat(5_000)}{}]}`;
    const text = contentType === "application/json" ? json : `payload=${encodeURIComponent(json)}`;
    expect(
      await readLarge(github, { contentType, bytes: utf8(text), maxValues: 5_000 }),
    ).toMatchObject({
      reason: "too_many_values",
      detail: expect.stringContaining("SIGNALBOX_MAX_WEBHOOK_VALUES"),
    });
  },
);

it.each(["application/cloudevents+json", "application/cloudevents-batch+json", "application/json"])(
  "rejects a CloudEvent of type %s with too many values",
  async (contentType) => {
    const attributes = { specversion: "1.0", id: "1", source: "/a", type: "b" };
    const data = Array(5_000).fill({});
    const isBatch = contentType.includes("batch");
    const isBinary = contentType === "application/json";
    const event = { ...attributes, data };
    const body = isBatch ? [event] : isBinary ? data : event;
    const headers = Object.fromEntries(
      Object.entries(attributes).map(([name, value]) => [`ce-${name}`, [value]]),
    );
    const cloudevents = sources.find(({ id }) => id === "cloudevents") as SourceDefinition;
    const webhook = { contentType, headers: isBinary ? headers : {} };
    const bytes = utf8(JSON.stringify(body));
    expect(await readLarge(cloudevents, { ...webhook, bytes, maxValues: 5_000 })).toMatchObject({
      reason: "too_many_values",
    });
    expect(await readLarge(cloudevents, { ...webhook, bytes, maxValues: 5_010 })).toHaveProperty(
      "events",
    );
  },
);

it.each([
  ["code_timeout", "exceeds the time limit of 10 s", "busy"],
  ["code_out_of_memory", "exceeds the memory limit of 512 MB", "body_too_large"],
] as const)("rejects a body if reading it ends with %s", async (error, message, reason) => {
  const runJob: RunJob = async () => ({ log: [], error, message });
  expect(await readLarge(github, { runJob, bytes: utf8("{}") })).toMatchObject({
    outcome: "rejected",
    reason,
    detail: expect.stringContaining(message),
  });
});
