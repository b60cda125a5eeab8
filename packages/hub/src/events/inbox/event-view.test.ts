import { summarySchema } from "@signalbox/contract/events.ts";
import fc from "fast-check";
import { expect, it } from "vitest";
import { z } from "zod";
import { utf8 } from "../../kernel/lib/bytes.ts";
import type { EventRow } from "../model.ts";
import { eventView, serializeEvent, summaryView } from "./event-view.ts";

const event: EventRow = {
  id: 'an "id"',
  tenant: "acme",
  seq: 7,
  source: "generic",
  source_id: "generic",
  external_id: null,
  type: 'a "type"',
  received_at: 1,
  processed: false,
  processed_at: null,
  note: "a note",
  trigger_status: null,
  last_triggered_at: null,
  claimed_by: null,
  claimed_until: null,
  attempts: 0,
  size: 1,
  action: null,
  repo: null,
  sender: null,
  number: null,
  title: null,
  url: null,
  check_result: null,
};

it("serializes an event with the JSON of its payload", () => {
  fc.assert(
    fc.property(fc.json(), (json) => {
      const view = eventView(event, JSON.parse(json));
      const serialized = String(serializeEvent(view, json));
      expect(new TextDecoder().decode(serializeEvent(view, utf8(json)) as Uint8Array)).toBe(
        serialized,
      );
      expect(JSON.parse(serialized)).toEqual(JSON.parse(JSON.stringify(view)));
      expect(Object.keys(JSON.parse(serialized))).toEqual(Object.keys(view));
    }),
  );
});

it("summarizes an event with its source and seq, and the result of a check", () => {
  const schema = z.strictObject(summarySchema.shape);
  expect(schema.parse(summaryView(event))).toEqual({
    id: event.id,
    type: event.type,
    received_at: "1970-01-01T00:00:00.001Z",
    processed: false,
    trigger_status: null,
    last_triggered_at: null,
    action: null,
    repo: null,
    sender: null,
    number: null,
    title: null,
    url: null,
    source: "generic",
    seq: 7,
  });
  const check_result = { conclusion: null, head_branch: "main", head_sha: "abc" };
  const checked = summaryView({ ...event, check_result });
  expect(schema.parse(checked)).toEqual({ ...summaryView(event), ...check_result });
});
