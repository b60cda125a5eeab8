import { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
import { expect, it } from "vitest";
import { testRunJob } from "../../flows/test-run-job.ts";
import { isRejection } from "../../kernel/http/ingest-outcome.ts";
import { utf8 } from "../../kernel/lib/bytes.ts";
import { toEvent } from "./callback-event.ts";
import { parseCallback } from "./parse-callback.ts";
import { readLargeCallback } from "./read-large-callback.ts";

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
