import { EVENT_FIELDS } from "@signalbox/rules/flows/nodes/event.ts";
import { expect, it } from "vitest";
import type { EventRow } from "../../events/model.ts";
import type { Payload } from "../../kernel/store/packs.ts";
import { testRunJob } from "../test-run-job.ts";
import { loadInput } from "./load-input.ts";
import type { Run } from "./model.ts";

it("returns exactly the event fields that the validation of flows allows", async () => {
  const event = {
    id: "e",
    seq: 1,
    source: "custom",
    source_id: "s",
    external_id: "x",
    type: "rain",
    received_at: 0,
    last_triggered_at: null,
  } as EventRow;
  const payload = {
    content_type: "application/json",
    headers: {},
    body: new TextEncoder().encode('{"mm":3}'),
  } as Payload;
  const store = { getEvent: async () => event, getPayload: async () => payload };
  const gathered = [{ at: 1, input: {}, event_id: "e" }];
  const input = await loadInput({ store, runJob: testRunJob }, {
    tenant: "acme",
    event_id: "e",
    gathered,
  } as unknown as Run);
  expect(input).toMatchObject({ data: { mm: 3 }, type: "rain" });
  expect(Object.keys(input).toSorted()).toEqual(EVENT_FIELDS.toSorted());
});
