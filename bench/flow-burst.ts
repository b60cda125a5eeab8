/**
 * The same burst of webhooks to a hub without flows and to a hub where each webhook starts a flow of
 * three nodes. Measures the webhooks' latency and the number of finished runs per second.
 */
import { join } from "node:path";
import { openSqlite } from "../packages/hub/src/kernel/backends/sqlite.ts";
import { type Store, storeDefinition } from "../packages/hub/src/store.ts";
import type { Options, Result } from "./benchmark.ts";
import { makeFolder, removeFolder } from "./cleanup.ts";
import { flowNode, publishFlow } from "./flow-engine.ts";
import { type HubProcess, startHub } from "./hub-process.ts";
import type { Load } from "./load-process.ts";
import { invalidReasons, type Measurement, measure } from "./measure.ts";
import { TENANT } from "./seed.ts";
import { median } from "./statistics.ts";
import { figure, table, times } from "./table.ts";

const GOAL = 2;
const CONNECTIONS = 32;

export async function measureBurst(options: Options, cli: string, load: Load): Promise<Result> {
  const { quick, reportProgress } = options;
  const shape = { connections: CONNECTIONS, requests: quick ? 2_000 : 10_000, seconds: 60 };
  const folders = [makeFolder(), makeFolder()] as const;
  const hubs: HubProcess[] = [];
  const rounds: { without: Measurement; with: Measurement; seconds: number }[] = [];
  try {
    const store = openSqlite(storeDefinition, join(folders[1], "signalbox.db"));
    const nodes = [
      flowNode("on", "Event", { source: "github", type: "issues" }),
      flowNode("shape", "Transform", { expression: '{ "number": input.data.issue.number }' }),
      flowNode("end", "Return", { value: "{{ shape }}" }),
    ];
    await publishFlow(store, nodes);
    for (const [at, data] of folders.entries())
      hubs.push(
        await startHub({ cli, name: at === 0 ? "no flows" : "one flow per webhook", data }),
      );
    const [withoutFlows, withFlows] = hubs as [HubProcess, HubProcess];
    for (let round = 0; round <= (quick ? 3 : 5); round += 1) {
      reportProgress(`flows: burst: round ${round}`);
      const withoutFlow = await measure(load, withoutFlows, shape);
      const startedAt = performance.now();
      const burst = await measure(load, withFlows, shape);
      await waitForAllRuns(store);
      const seconds = (performance.now() - startedAt) / 1000;
      // Round 0 is the warm-up.
      if (round > 0) rounds.push({ without: withoutFlow, with: burst, seconds });
    }
    await store.close();
  } finally {
    for (const hub of hubs) await hub.stop();
    for (const folder of folders) removeFolder(folder);
  }
  const problems = rounds.flatMap((round) => [
    ...invalidReasons("no flows", round.without),
    ...invalidReasons("one flow per webhook", round.with),
  ]);
  const of = (value: (round: (typeof rounds)[number]) => number) => median(rounds.map(value));
  const ratio = of((round) => round.with.latency.p99 / round.without.latency.p99);
  const line = (name: string, which: "with" | "without") => [
    name,
    figure(of((round) => round[which].perSecond)),
    figure(of((round) => round[which].latency.p50)),
    figure(of((round) => round[which].latency.p99)),
    which === "with" ? figure(of((round) => round.with.completed / round.seconds)) : "",
  ];
  return {
    tables: [
      {
        title: `A burst of ${figure(shape.requests)} webhooks of 10 KB, concurrency ${CONNECTIONS}`,
        text: table(
          ["hub", "webhooks/s", "p50 ms", "p99 ms", "finished runs/s"],
          [line("no flows", "without"), line("a flow of 3 nodes per webhook", "with")],
        ),
      },
      ...(problems.length > 0 ? [{ title: "Invalid rounds", text: problems.join("\n") }] : []),
    ],
    goals: [
      {
        what: `p99 of a burst that starts flows at most ${GOAL}× p99 of a burst without flows`,
        isMet: ratio <= GOAL,
        result: times(ratio),
      },
    ],
    isValid: problems.length === 0,
    data: rounds,
  };
}

async function waitForAllRuns(store: Store): Promise<void> {
  for (;;) {
    const [queued, running, failed] = await Promise.all(
      (["queued", "running", "failed"] as const).map((status) =>
        store.listRuns({ tenant: TENANT, limit: 1, status }),
      ),
    );
    if (failed?.[0]) throw new Error(`a run failed: ${failed[0].error?.message}`);
    if (queued?.length === 0 && running?.length === 0) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
