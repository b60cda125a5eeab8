import type { Json } from "@signalbox/rules/json.ts";
import { expect, test } from "vitest";
import type { RunJob } from "../../kernel/jobs/job.ts";
import { type RecordedRequest, testRunJob } from "../test-run-job.ts";
import { withSimpleFilters } from "./simple-filters.ts";

const EVENT: Json = { data: { action: "opened", number: 7, labels: [{ name: "bug" }] } };

/** `sent` lists the jobs that reached a worker. */
function setUp() {
  const sent: RecordedRequest[] = [];
  const runJob: RunJob = withSimpleFilters((request, caller) => {
    sent.push(request);
    return testRunJob(request, caller);
  });
  const { signal } = new AbortController();
  return {
    sent,
    filter: async (expressions: string[], data: Json = EVENT) => {
      const result = await runJob(
        { job: "jsonata-filters", expressions, data, timeoutMs: 1000 },
        { tenant: "acme", signal },
      );
      return "output" in result ? (result.output as Json[]) : [];
    },
  };
}

test("evaluates a simple filter in this process, after a worker has found that it is simple", async () => {
  const { filter, sent } = setUp();
  const filters = ['data.action = "opened"', "data.number > 7"];
  for (let event = 0; event < 3; event += 1)
    expect(await filter(filters)).toMatchObject([{ holds: true }, { holds: false }]);
  expect(sent).toHaveLength(1);
  await filter([...filters, "data.number > 6"]);
  expect(sent).toHaveLength(2); // with a filter that no worker has seen
});

test("returns the problem of a simple filter", async () => {
  const { filter, sent } = setUp();
  await filter(["data.number < 10"]);
  expect(await filter(["data.number < 10"], { data: { number: "seven" } })).toMatchObject([
    { problem: expect.stringContaining("must be of the same data type") },
  ]);
  expect(sent).toHaveLength(1);
});

test.each([
  ["a filter that is not simple", 'data.labels[name = "bug"]', EVENT],
  ["a filter with a syntax error", "data.(", EVENT],
  ["an event with a long text", '$contains(data, "lamp")', { data: "x".repeat(250_000) }],
  ["an event with many values", "data = 1", { data: Array.from({ length: 50_000 }, () => 1) }],
])("sends %s to a worker each time", async (_, text, data) => {
  const { filter, sent } = setUp();
  for (let event = 0; event < 2; event += 1) await filter([text], data as Json);
  expect(sent).toHaveLength(2);
});
