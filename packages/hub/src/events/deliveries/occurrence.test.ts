import { expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { openSqlite } from "../../kernel/backends/sqlite.ts";
import { storeDefinition } from "../../store.ts";
import { MAX_BODY_BYTES, payloadSchema } from "../mcp-events/protocol.ts";
import type { NewEvent } from "../model.ts";
import { allEvents, appendEvents, itemAt, START, sampleEvent } from "../store/contract/sample.ts";
import { toOccurrence } from "./occurrence.ts";

async function occurrenceOf(fields: Partial<NewEvent>) {
  const store = openSqlite(storeDefinition, `${tempFolder()}/hub.db`);
  onTestFinished(() => store.close());
  await appendEvents(store, [sampleEvent({ received_at: START, ...fields })]);
  const event = itemAt(await allEvents(store), 0);
  return { event, occurrence: await toOccurrence(store, event, "7") };
}
const json = (value: unknown) => new TextEncoder().encode(JSON.stringify(value));

it("includes the event's summary and payload", async () => {
  const { event, occurrence } = await occurrenceOf({ external_id: "d-1", body: json({ a: [1] }) });
  expect(occurrence).toEqual({
    eventId: "d-1",
    name: "github.issues",
    timestamp: "2026-01-01T00:00:00.000Z",
    cursor: "7",
    data: {
      event_id: event.id,
      seq: 1,
      source: "github",
      type: "issues",
      received_at: "2026-01-01T00:00:00.000Z",
      action: "opened",
      repo: "acme/web",
      sender: "ada",
      number: event.number,
      title: event.title,
      url: event.url,
      payload: { a: [1] },
    },
  });
});

it("includes the event's check result", async () => {
  const check_result = { conclusion: "failure", head_branch: "main", head_sha: "abc" };
  const { occurrence } = await occurrenceOf({ check_result });
  expect(occurrence.data).toMatchObject(check_result);
  expect(payloadSchema.parse(occurrence.data)).toEqual(occurrence.data);
});

it.each([
  ["a large payload", json({ text: "x".repeat(MAX_BODY_BYTES) })],
  ["a payload that is too large with its summary", json({ text: "x".repeat(MAX_BODY_BYTES - 20) })],
  ["a payload that grows when it is serialized", json({ text: "\u0001".repeat(50_000) })],
])("omits %s, and sets payload_omitted", async (_, body) => {
  const { occurrence } = await occurrenceOf({ body });
  expect(occurrence.data).toMatchObject({ payload_omitted: true });
  expect(occurrence.data).not.toHaveProperty("payload");
  expect(JSON.stringify(occurrence).length).toBeLessThan(2_000);
});

it.each([null, "", "a b", "a\nb", "é", "x".repeat(257)])(
  "uses the hub's id if the sender's id is not valid in a header: %j",
  async (external_id) => {
    const { event, occurrence } = await occurrenceOf({ external_id });
    expect(occurrence.eventId).toBe(event.id);
  },
);
