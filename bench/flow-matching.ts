/** What an event costs to match, with ever more triggers stored of which one could fire. */
import { createMatcher } from "../packages/hub/src/runs/matcher.ts";
import type { NewEvent } from "../packages/hub/src/store/store.ts";
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
  /** Microseconds for an event of a known kind, and for one whose triggers have to be looked up. */
  known: number[];
  unknown: number[];
}

export async function measureMatching({ quick, tell }: Options): Promise<Result> {
  const bodies = makePayloads();
  const lines: Line[] = [];
  const engines: Engine[] = [];
  const events = Array.from({ length: 500 }, (_, at) => eventOf(bodies[at % bodies.length]));
  try {
    const prepared = [];
    for (const triggers of [10, 1_000, 100_000]) {
      tell(`flows: matching: ${figure(triggers)} triggers`);
      const engine = openEngine();
      engines.push(engine);
      await storeTriggers(engine, triggers);
      const { store } = engine;
      const matcher = createMatcher({ store, newId, now: Date.now, maxDepth: 5, maxLoops: 30 });
      prepared.push({ triggers, matcher, known: [] as number[], unknown: [] as number[] });
    }
    for (let round = 0; round <= (quick ? 5 : 20); round += 1)
      for (const { matcher, known, unknown, triggers } of prepared) {
        tell(`flows: matching: ${figure(triggers)} triggers, round ${round}`);
        for (const [found, forget] of [
          [known, false],
          [unknown, true],
        ] as const) {
          const began = performance.now();
          for (const event of events) {
            if (forget) matcher.forget(TENANT);
            const plan = await matcher.plan({ tenant: TENANT, events: [event] });
            if (plan.events[0]?.runs.length !== 1) throw new Error("the event started no run");
          }
          // The first one only makes code warm.
          if (round > 0) found.push(((performance.now() - began) * 1000) / events.length);
        }
      }
    lines.push(...prepared);
  } finally {
    for (const engine of engines) await engine.close();
  }
  const [least, most] = [lines[0] as Line, lines.at(-1) as Line];
  const ratio = median(most.known) / median(least.known);
  return {
    tables: [
      {
        title: "Matching an event of 10 KB that starts one run, SQLite",
        text: table(
          ["stored triggers", "µs an event", "µs when looked up anew"],
          lines.map(({ triggers, known, unknown }) => [
            figure(triggers),
            figure(median(known)),
            figure(median(unknown)),
          ]),
        ),
      },
    ],
    goals: [
      {
        what: `Matching with ${figure(most.triggers)} triggers within ${GOAL}× of ${least.triggers}`,
        met: ratio <= GOAL,
        found: times(ratio),
      },
    ],
    valid: true,
    data: lines.map(({ triggers, known, unknown }) => ({ triggers, known, unknown })),
  };
}

/** Only the first of them is for events such as those that come. */
async function storeTriggers({ store }: Engine, count: number): Promise<void> {
  const params = { action: { op: "ne", value: "no such thing" } };
  for (let made = 0; made < count; made += PER_FLOW)
    await publishFlow(store, [flowNode("on", "Event")], {
      triggers: Array.from({ length: Math.min(PER_FLOW, count - made) }, (_, at) => ({
        node_id: `on-${at}`,
        kind: "event",
        tool_name: null,
        source: "github",
        type: made + at === 0 ? "issues" : `type-${made + at}`,
        active: true,
        config: { params },
      })),
    });
}

const eventOf = (body: Buffer | undefined): NewEvent => ({
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
  content_type: "application/json",
  headers: {},
  body: body ?? Buffer.from("{}"),
});
