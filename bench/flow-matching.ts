/** Time to match one event with growing numbers of stored triggers, one of which fires. */

import type { NewEvent } from "../packages/hub/src/events/model.ts";
import { createMatcher } from "../packages/hub/src/flows/matching/matcher.ts";
import type { Options, Result } from "./benchmark.ts";
import { type Engine, flowNode, newId, openEngine, publishFlow } from "./flow-engine.ts";
import { makePayloads } from "./payloads.ts";
import { TENANT } from "./seed.ts";
import { median } from "./statistics.ts";
import { figure, table, times } from "./table.ts";

const GOAL = 1.5;
const PER_FLOW = 1_000;

interface Line {
  triggers: number;
  /** Microseconds per event, with the triggers in the cache and after an invalidation. */
  cached: number[];
  uncached: number[];
}

export async function measureMatching({ quick, reportProgress }: Options): Promise<Result> {
  const bodies = makePayloads();
  const lines: Line[] = [];
  const engines: Engine[] = [];
  const events = Array.from({ length: 500 }, (_, at) => makeEvent(bodies[at % bodies.length]));
  try {
    const prepared = [];
    for (const triggers of [10, 1_000, 100_000]) {
      reportProgress(`flows: matching: ${figure(triggers)} triggers`);
      const engine = openEngine();
      engines.push(engine);
      await storeTriggers(engine, triggers);
      const { store } = engine;
      const matcher = createMatcher({
        store,
        runJob: engine.runJob,
        newId,
        now: Date.now,
        maxChain: 5,
        maxLoops: 30,
      });
      prepared.push({ triggers, matcher, cached: [] as number[], uncached: [] as number[] });
    }
    for (let round = 0; round <= (quick ? 5 : 20); round += 1)
      for (const { matcher, cached, uncached, triggers } of prepared) {
        reportProgress(`flows: matching: ${figure(triggers)} triggers, round ${round}`);
        for (const [durations, invalidate] of [
          [cached, false],
          [uncached, true],
        ] as const) {
          const startedAt = performance.now();
          for (const event of events) {
            if (invalidate) matcher.invalidate(TENANT);
            const plan = await matcher.plan({ tenant: TENANT, events: [event] });
            if (plan.events[0]?.runs.length !== 1) throw new Error("the event started no run");
          }
          // Round 0 is the warm-up.
          if (round > 0) durations.push(((performance.now() - startedAt) * 1000) / events.length);
        }
      }
    lines.push(...prepared);
  } finally {
    for (const engine of engines) await engine.close();
  }
  const [smallest, largest] = [lines[0] as Line, lines.at(-1) as Line];
  const ratio = median(largest.cached) / median(smallest.cached);
  return {
    tables: [
      {
        title: "Matching an event of 10 KB that starts one run, SQLite",
        text: table(
          ["stored triggers", "µs per event, cached", "µs per event, after invalidation"],
          lines.map(({ triggers, cached, uncached }) => [
            figure(triggers),
            figure(median(cached)),
            figure(median(uncached)),
          ]),
        ),
      },
    ],
    goals: [
      {
        what: `Matching with ${figure(largest.triggers)} triggers takes at most ${GOAL}× as long as with ${smallest.triggers}`,
        isMet: ratio <= GOAL,
        result: times(ratio),
      },
    ],
    isValid: true,
    data: lines.map(({ triggers, cached, uncached }) => ({ triggers, cached, uncached })),
  };
}

/** Only the first trigger matches the events. */
async function storeTriggers({ store }: Engine, count: number): Promise<void> {
  const params = { action: { op: "ne", value: "other" } };
  for (let stored = 0; stored < count; stored += PER_FLOW)
    await publishFlow(store, [flowNode("on", "Event")], {
      triggers: Array.from({ length: Math.min(PER_FLOW, count - stored) }, (_, at) => ({
        node_id: `on-${at}`,
        kind: "event",
        tool_name: null,
        source: "github",
        type: stored + at === 0 ? "issues" : `type-${stored + at}`,
        active: true,
        config: { params },
      })),
    });
}

export const makeEvent = (body: Buffer | undefined): NewEvent => ({
  id: newId(),
  source: "github",
  source_id: "github",
  external_id: newId(),
  type: "issues",
  received_at: Date.now(),
  action: "opened",
  repo: null,
  sender: null,
  number: null,
  title: null,
  url: null,
  check_result: null,
  content_type: "application/json",
  headers: {},
  body: body ?? Buffer.from("{}"),
});
