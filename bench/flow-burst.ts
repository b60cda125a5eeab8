/**
 * A burst of webhooks to a hub without flows and to one where each starts a flow of three nodes. What
 * senders notice of the flows, and how many runs come to their end in a second.
 */
import { join } from "node:path";
import { openSqlite } from "../packages/hub/src/store/backends/sqlite.ts";
import type { Options, Result } from "./benchmark.ts";
import { flowNode, publishFlow } from "./flow-engine.ts";
import { type HubProcess, startHub } from "./hub-process.ts";
import type { Load } from "./load-process.ts";
import { complaints, type Measured, measure } from "./measure.ts";
import { makeFolder, removeFolder } from "./owned.ts";
import { TENANT } from "./seed.ts";
import { median } from "./statistics.ts";
import { figure, table, times } from "./table.ts";

const GOAL = 2;
const CONNECTIONS = 32;

export async function measureBurst(options: Options, cli: string, load: Load): Promise<Result> {
  const { quick, tell } = options;
  const shape = { connections: CONNECTIONS, requests: quick ? 2_000 : 10_000, seconds: 60 };
  const folders = [makeFolder(), makeFolder()] as const;
  const hubs: HubProcess[] = [];
  const rounds: { without: Measured; with: Measured; seconds: number }[] = [];
  try {
    const store = openSqlite(join(folders[1], "signalbox.db"));
    const nodes = [
      flowNode("on", "Event", { source: "github", type: "issues" }),
      flowNode("shape", "Transform", { expression: '{ "number": input.data.issue.number }' }),
      flowNode("end", "Return", { value: "{{ shape }}" }),
    ];
    await publishFlow(store, nodes);
    for (const [at, data] of folders.entries())
      hubs.push(await startHub({ cli, name: at === 0 ? "no flows" : "a flow each", data }));
    const [without, within] = hubs as [HubProcess, HubProcess];
    for (let round = 0; round <= (quick ? 3 : 5); round += 1) {
      tell(`flows: burst: round ${round}`);
      const alone = await measure(load, without, shape);
      const began = performance.now();
      const burst = await measure(load, within, shape);
      await untilAllEnded(store);
      const seconds = (performance.now() - began) / 1000;
      // The first one only makes code warm.
      if (round > 0) rounds.push({ without: alone, with: burst, seconds });
    }
    await store.close();
  } finally {
    for (const hub of hubs) await hub.stop();
    for (const folder of folders) removeFolder(folder);
  }
  const troubles = rounds.flatMap((round) => [
    ...complaints("no flows", round.without),
    ...complaints("a flow each", round.with),
  ]);
  const of = (value: (round: (typeof rounds)[number]) => number) => median(rounds.map(value));
  const ratio = of((round) => round.with.latency.p99 / round.without.latency.p99);
  const line = (name: string, which: "with" | "without") => [
    name,
    figure(of((round) => round[which].perSecond)),
    figure(of((round) => round[which].latency.p50)),
    figure(of((round) => round[which].latency.p99)),
    which === "with" ? figure(of((round) => round.with.answered / round.seconds)) : "",
  ];
  return {
    tables: [
      {
        title: `A burst of ${figure(shape.requests)} webhooks, ${CONNECTIONS} at once, each of 10 KB`,
        text: table(
          ["hub", "webhooks/s", "p50 ms", "p99 ms", "runs/s, to their end"],
          [line("no flows", "without"), line("a flow of 3 nodes each", "with")],
        ),
      },
      ...(troubles.length > 0 ? [{ title: "Invalid rounds", text: troubles.join("\n") }] : []),
    ],
    goals: [
      {
        what: `p99 of a burst that starts flows within ${GOAL}× of one that does not`,
        met: ratio <= GOAL,
        found: times(ratio),
      },
    ],
    valid: troubles.length === 0,
    data: rounds,
  };
}

async function untilAllEnded(store: ReturnType<typeof openSqlite>): Promise<void> {
  for (;;) {
    const open = await Promise.all(
      (["queued", "running", "failed"] as const).map((status) =>
        store.listRuns({ tenant: TENANT, limit: 1, status }),
      ),
    );
    if (open[2]?.[0]) throw new Error(`a run failed: ${open[2][0].error?.message}`);
    if (open.every(({ length }) => length === 0)) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
