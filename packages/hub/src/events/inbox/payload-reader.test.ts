import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { testRunJob } from "../../flows/test-run-job.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";
import type { Payload } from "../../kernel/store/packs.ts";
import type { EventRow } from "../model.ts";
import { createLargeReads } from "./large-reads.ts";
import { createPayloadReader } from "./payload-reader.ts";

const JSON_TYPE = "application/json";
const FORM = "application/x-www-form-urlencoded";

/** Creates a reader of one stored payload. `jobs` records the names of jobs. */
function setup(
  body: string | undefined,
  content_type = JSON_TYPE,
  source = "github",
  headers = {},
  isCompressed = false,
) {
  const payload: Payload | undefined =
    body === undefined ? undefined : { content_type, headers, body: utf8(body) };
  const jobs: string[] = [];
  const reader = createPayloadReader({
    store: {
      getPayload: async () => payload,
      slicePayload: async (_tenant, _seq, from, to) =>
        isCompressed || !payload
          ? undefined
          : { ...payload, body: payload.body.subarray(from, to) },
    },
    runJob(request, caller) {
      jobs.push(request.job);
      return testRunJob(request, caller);
    },
    largeReads: createLargeReads(),
  });
  const size = payload?.body.byteLength ?? 0;
  const event = { tenant: "acme", seq: 1, source, size } as EventRow;
  return {
    jobs,
    json: async () => {
      const json = await reader.json(event);
      return typeof json === "string" ? json : new TextDecoder().decode(json);
    },
    part: (request: object = {}) =>
      reader.part(event, { offset: 0, maxBytes: LARGE_BYTES, ...request }),
    matches: async (path: string, value: string) =>
      (await reader.open(event)).matches([{ path, value }]),
  };
}

const large = {
  title: "a lamp",
  text: "ü".repeat(LARGE_BYTES),
  labels: [{ name: "red" }, { name: "green" }],
};
const encodings: [string, ReturnType<typeof setup>, unknown][] = [
  ["JSON", setup(JSON.stringify(large)), large],
  ["compressed JSON", setup(JSON.stringify(large), JSON_TYPE, "github", {}, true), large],
  ["JSON with a byte order mark", setup(`\ufeff${JSON.stringify(large)}`), large],
  ["formatted JSON", setup(JSON.stringify(large, null, 2)), large],
  ["a form", setup(`payload=${encodeURIComponent(JSON.stringify(large))}`, FORM), large],
  [
    "a CloudEvent in binary mode",
    setup(JSON.stringify(large), JSON_TYPE, "cloudevents", { "ce-id": "1" }),
    { id: "1", datacontenttype: JSON_TYPE, data: large },
  ],
];

describe.each(encodings)(
  "a large payload that is %s",
  (name, { json, part, matches }, expected) => {
    const prefix = name.startsWith("a CloudEvent") ? "data." : "";

    it("can be read whole, as JSON", async () => {
      expect(JSON.parse(await json())).toEqual(expected);
    });

    it("is truncated, and can be read slice by slice", async () => {
      let text = "";
      let offset: number | null | undefined = 0;
      while (typeof offset === "number") {
        const { payload, truncated, payload_bytes, next_offset } = await part({ offset });
        expect(truncated).toBe(true);
        expect(payload_bytes).toBeGreaterThan(2 * LARGE_BYTES);
        expect(utf8(String(payload)).byteLength).toBeLessThanOrEqual(LARGE_BYTES);
        text += payload;
        offset = next_offset;
      }
      expect(JSON.parse(text)).toEqual(expected);
    });

    it("can be read at a path, where a large value is truncated", async () => {
      expect(await part({ path: `${prefix}title` })).toEqual({ payload: "a lamp" });
      expect(await part({ path: `${prefix}labels[].name` })).toEqual({ payload: ["red", "green"] });
      expect(await part({ path: `${prefix}text`, maxBytes: 6, offset: 1 })).toMatchObject({
        payload: "üüü",
        truncated: true,
        payload_bytes: 2 * LARGE_BYTES + 2,
        next_offset: 7,
      });
      await expect(part({ path: `${prefix}body` })).rejects.toThrow("the payload has no value at");
      await expect(part({ offset: 10_000_000 })).rejects.toThrow("must be less than");
    });

    it("is matched by conditions on its values", async () => {
      expect(await matches(`${prefix}labels[].name`, "green")).toBe(true);
      expect(await matches(`${prefix}labels[].name`, "blue")).toBe(false);
    });
  },
);

it("slices large JSON without a job", async () => {
  const { part, json, jobs } = setup(JSON.stringify(large));
  await part();
  await part({ offset: 1_000 });
  await json();
  expect(jobs).toEqual([]);
});

it("reads a small payload without a job", async () => {
  const { part, json, matches, jobs } = setup('{"id":12345678901234567890,"text":"xyz"}');
  expect(await part()).toMatchObject({ payload: { text: "xyz" } });
  expect((await part()).json).toContain('{"id":12345678901234567890,');
  expect(await part({ maxBytes: 10, offset: 6 })).toEqual({
    payload: "1234567890",
    truncated: true,
    payload_bytes: 40,
    next_offset: 16,
  });
  expect(await part({ offset: 35 })).toMatchObject({ payload: 'xyz"}', next_offset: null });
  expect(await json()).toContain('{"id":12345678901234567890,');
  expect(await matches("text", "xyz")).toBe(true);
  await expect(part({ path: "a..b" })).rejects.toThrow("is not a path");
  expect(jobs).toEqual([]);
});

it.each(["{", "", undefined])(
  "returns the same value whole and as a part if a payload is not JSON or was removed: %j",
  async (body) => {
    const { part, json } = setup(body);
    expect(JSON.parse(await json())).toEqual((await part()).payload);
  },
);

it("returns small JSON without line breaks, even if it was received with indentation", async () => {
  await fc.assert(
    fc.asyncProperty(fc.json(), fc.constantFrom(0, 2, "\t"), async (json, indent) => {
      const text = await setup(JSON.stringify(JSON.parse(json), null, indent)).json();
      expect(JSON.parse(text)).toEqual(JSON.parse(json));
      expect(text).not.toContain("\n");
    }),
  );
});

it("slices between characters, and returns at least one character", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.string({ unit: "grapheme" }),
      fc.integer({ min: 1, max: 5 }),
      async (text, maxBytes) => {
        const { part } = setup(JSON.stringify({ text }));
        let read = "";
        let offset: number | null | undefined = 0;
        while (typeof offset === "number") {
          const { payload, next_offset } = await part({ offset, maxBytes });
          read += payload;
          offset = next_offset;
        }
        expect(JSON.parse(read)).toEqual({ text });
      },
    ),
  );
});

it("counts a large payload in `largeReads` until a job has read it", async () => {
  const order: string[] = [];
  const body = utf8(JSON.stringify(large));
  const reader = createPayloadReader({
    store: {
      slicePayload: async () => undefined,
      async getPayload() {
        order.push("load");
        return { content_type: JSON_TYPE, headers: {}, body };
      },
    },
    runJob(request, caller) {
      order.push("run");
      expect(caller.maxWaitMs).toBeGreaterThan(0);
      return testRunJob(request, caller);
    },
    async largeReads(_, work) {
      order.push("acquire");
      const result = await work();
      order.push("release");
      return result;
    },
  });
  const event = { tenant: "acme", seq: 1, source: "github", size: body.byteLength } as EventRow;
  await reader.part(event, { path: "title", offset: 0, maxBytes: LARGE_BYTES });
  expect(order).toEqual(["acquire", "load", "run", "release"]);
});

it("returns the same slice from a store that can slice the payload and from one that cannot", async () => {
  const json = JSON.stringify({ text: "aü€🚂".repeat(LARGE_BYTES / 8) });
  for (const body of [json, `\ufeff${json}`]) {
    const slicedByStore = setup(body);
    const slicedByHub = setup(body, JSON_TYPE, "github", {}, true);
    const length = utf8(json).byteLength;
    for (const start of [0, 9, 1_000, length - 12])
      for (let offset = start; offset < Math.min(start + 12, length); offset += 1)
        for (const maxBytes of [1, 3, 4, 11])
          expect(await slicedByStore.part({ offset, maxBytes })).toEqual(
            await slicedByHub.part({ offset, maxBytes }),
          );
    await expect(slicedByStore.part({ offset: length })).rejects.toThrow(
      `must be less than ${length}`,
    );
  }
});
