import fc from "fast-check";
import { expect, it } from "vitest";
import { utf8 } from "../lib/hmac.ts";
import type { EventRow } from "../store/store.ts";
import { eventView, readStored, spellEvent } from "./event-view.ts";

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
  outcome: null,
  claimed_by: null,
  claimed_until: null,
  size: 1,
  action: null,
  repo: null,
  sender: null,
  number: null,
  title: null,
  url: null,
};
const stored = (body: string) => ({
  content_type: "application/json",
  headers: {},
  body: utf8(body),
});

it("is the same as text, however its payload was written", () => {
  fc.assert(
    fc.property(fc.json(), fc.constantFrom(undefined, 0, 2, "\t"), (json, indent) => {
      const sent =
        indent === undefined ? ` ${json} ` : JSON.stringify(JSON.parse(json), null, indent);
      const { value, text } = readStored(event, stored(sent));
      const view = eventView(event, value);
      const spelled = spellEvent(view, text);
      expect(JSON.parse(spelled)).toEqual(JSON.parse(JSON.stringify(view)));
      expect(Object.keys(JSON.parse(spelled))).toEqual(Object.keys(view));
      expect(spelled).not.toContain("\n");
    }),
  );
});

it("is text also where its payload is no JSON, or gone", () => {
  for (const payload of [stored("{"), stored(""), undefined]) {
    const { value, text } = readStored(event, payload);
    const view = eventView(event, value);
    expect(JSON.parse(spellEvent(view, text))).toEqual(view);
  }
});

it("keeps numbers that are too long for JavaScript", () => {
  const { value, text } = readStored(event, stored('{"id":12345678901234567890}'));
  expect(spellEvent(eventView(event, value), text)).toContain('{"id":12345678901234567890}');
});
