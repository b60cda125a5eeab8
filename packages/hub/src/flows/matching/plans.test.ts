import { breakerReason } from "@signalbox/rules/match/breaker.ts";
import type { Reason } from "@signalbox/rules/match/match-trigger.ts";
import { expect, test } from "vitest";
import type { PlannedVerdict } from "./model.ts";
import { keptVerdicts, MAX_MISSES } from "./plans.ts";

const reason = (holds: boolean, message = "a"): Reason => ({ on: "param", holds, message });
const verdict = (node_id: string, ...reasons: Reason[]): PlannedVerdict => ({
  flow_id: "f",
  node_id,
  version: 1,
  matched: reasons.every(({ holds }) => holds),
  reasons,
});
const nodesOf = (verdicts: PlannedVerdict[]) => verdicts.map(({ node_id }) => node_id);

test("all matches are kept, with all reasons", () => {
  const matches = Array.from({ length: 50 }, (_, index) => verdict(`m${index}`, reason(true)));
  expect(keptVerdicts(matches)).toEqual(matches);
});

test("of the misses, those with the fewest failed conditions are kept, with these conditions", () => {
  const far = Array.from({ length: MAX_MISSES }, (_, index) =>
    verdict(`far${index}`, reason(false), reason(true), reason(false)),
  );
  const near = verdict("near", reason(true), reason(false, "b"));
  const match = verdict("match", reason(true));
  const kept = keptVerdicts([...far, near, match]);
  expect(nodesOf(kept)).toEqual([...nodesOf(far.slice(0, -1)), "near", "match"]);
  expect(kept.find(({ node_id }) => node_id === "near")?.reasons).toEqual([reason(false, "b")]);
  expect(kept[0]?.reasons).toEqual([reason(false), reason(false)]);
});

test("misses with long reasons are kept up to a total size", () => {
  const long = Array.from({ length: MAX_MISSES }, (_, index) =>
    verdict(`n${index}`, reason(false, "x".repeat(600))),
  );
  expect(nodesOf(keptVerdicts(long))).toEqual(["n0", "n1", "n2"]);
});

test("a trigger that the breaker stopped is kept", () => {
  const trip = { limit: "chain", max: 5 } as const;
  const breaker = { ...trip, reason: breakerReason(trip) };
  const stopped = { ...verdict("stopped", reason(true), breaker.reason), breaker };
  const misses = Array.from({ length: 20 }, (_, index) => verdict(`n${index}`, reason(false)));
  expect(keptVerdicts([...misses, stopped]).at(-1)).toEqual(stopped);
});
