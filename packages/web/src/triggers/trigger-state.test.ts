import type { TriggerState } from "@signalbox/contract";
import { expect, it } from "vitest";
import { describePendingChange, signalOfTrigger } from "./trigger-state.ts";

const published = (change: Partial<TriggerState> = {}): TriggerState => ({
  node_id: "n",
  kind: "event",
  tool_name: null,
  source: "github",
  type: "issues",
  active: true,
  state: null,
  error: null,
  last_fired_at: null,
  next_fire_at: null,
  ...change,
});

it.each<[TriggerState | undefined, string, string]>([
  [undefined, "none", "not published"],
  [published(), "green", "active"],
  [published({ state: "active" }), "green", "active"],
  [published({ state: "configuring" }), "lunar", "being configured at the server"],
  [published({ state: "failed", error: "no quota" }), "red", "failed"],
  [published({ state: "active", error: "timeout" }), "amber", "not confirmed"],
  [published({ state: "configuring", error: "timeout" }), "amber", "not confirmed"],
  [published({ state: "paused" }), "none", "paused"],
  [published({ active: false, state: "configuring" }), "none", "paused"],
])("%#: returns the colour and label of the state", (state, aspect, label) =>
  expect(signalOfTrigger(state)).toEqual({ aspect, label }),
);

const SAME = { source: "github", type: "issues" };

it.each<[object, TriggerState | undefined, RegExp | undefined]>([
  [SAME, undefined, /^The trigger starts no runs until/],
  [SAME, published(), undefined],
  [{ ...SAME, isActive: false }, published(), /^Paused in the draft/],
  [SAME, published({ active: false }), /^Active in the draft/],
  [{ source: "github" }, published(), /listens to other events/],
  [{ source: "github" }, published({ type: null }), undefined],
  [{ cron: "0 9 * * *" }, published({ kind: "schedule", source: null, type: null }), undefined],
])("%#: describes what publishing would change", (parameters, state, text) => {
  const pending = describePendingChange(
    parameters as Parameters<typeof describePendingChange>[0],
    state,
  );
  if (text) expect(pending).toMatch(text);
  else expect(pending).toBeUndefined();
});

it("reports that a condition or a time was edited", () => {
  const cron = published({ kind: "schedule", source: null, type: null });
  const nine = { cron: "0 9 * * *", isActive: true };
  expect(describePendingChange({ cron: "0 8 * * *" }, cron, nine)).toMatch(/^Edited in the draft/);
  expect(describePendingChange({ cron: "0 9 * * *" }, cron, nine)).toBeUndefined();
  const before = { ...SAME, params: { action: "opened" } };
  expect(describePendingChange({ ...SAME, params: {} }, published(), before)).toMatch(
    /^Edited in the draft/,
  );
  expect(describePendingChange(before, published(), before)).toBeUndefined();
});
