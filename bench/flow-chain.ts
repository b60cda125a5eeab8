/**
 * A run of forty steps, each committed before the next starts, compared with forty plain commits of
 * the same database engine with the same settings. The two alternate.
 */
import { join } from "node:path";
import { connect } from "../packages/hub/src/kernel/backends/sqlite-file.ts";
import type { Options, Result } from "./benchmark.ts";
import { makeFolder, removeFolder } from "./cleanup.ts";
import { flowNode, newRun, openEngine, publishFlow } from "./flow-engine.ts";
import { median, spread } from "./statistics.ts";
import { figure, range, table, times } from "./table.ts";

const STEPS = 40;
const GOAL = 2;

export async function measureChain({ quick, reportProgress }: Options): Promise<Result> {
  const engine = openEngine();
  const folder = makeFolder();
  const plain = openPlainDatabase(join(folder, "plain.db"));
  const [chainMs, plainMs, coldMs]: [number[], number[], number[]] = [[], [], []];
  try {
    const nodes = [
      flowNode("start", "UserIntent", { toolName: "t", toolDescription: "d" }),
      ...Array.from({ length: STEPS }, (_, at) =>
        flowNode(`n${at}`, "Transform", { expression: '{ "count": input.count + 1 }' }),
      ),
    ];
    const flow = await publishFlow(engine.store, nodes);
    const chain = async () => {
      const startedAt = performance.now();
      const { ended } = await engine.runner.start(newRun(flow, "start", { count: 0 }));
      const { output } = await ended;
      if ((output as { count: number } | null)?.count !== STEPS)
        throw new Error(`the chain returned ${JSON.stringify(output)}`);
      return performance.now() - startedAt;
    };
    const rounds = quick ? 30 : 100;
    // V8 optimizes code after many calls, so the warm-up is counted in chains, not seconds.
    for (let chains = 0; chains < (quick ? 100 : 500); chains += 1) coldMs.push(await chain());
    for (let round = 1; round <= rounds; round += 1) {
      reportProgress(`flows: chain: round ${round}`);
      plainMs.push(await plain.commit(STEPS));
      chainMs.push(await chain());
    }
  } finally {
    plain.close();
    removeFolder(folder);
    await engine.close();
  }
  const ratio = median(chainMs.map((ms, at) => ms / (plainMs[at] as number)));
  const line = (name: string, ms: number[]) => {
    const rounds = spread(ms);
    return [name, figure(rounds.median), range(rounds), figure((rounds.median / STEPS) * 1000)];
  };
  return {
    tables: [
      {
        title: `A chain of ${STEPS} Transform nodes, every step fsynced, SQLite`,
        text: table(
          ["what", "ms", "spread", "µs per step"],
          [
            line(`${STEPS} plain commits`, plainMs),
            line(`${STEPS} steps`, chainMs),
            line(`${STEPS} steps, the first 20 chains`, coldMs.slice(0, 20)),
          ],
        ),
      },
    ],
    goals: [
      {
        what: `${STEPS} durable steps take at most ${GOAL}× as long as ${STEPS} plain commits`,
        isMet: ratio <= GOAL,
        result: times(ratio),
      },
    ],
    isValid: true,
    data: { chainMs, plainMs, coldMs, ratio },
  };
}

/** A database with the hub's settings and a table like `steps`; each commit inserts one row. */
function openPlainDatabase(file: string) {
  const db = connect(file);
  db.exec(
    "CREATE TABLE steps (run_id TEXT, nth BIGINT, output TEXT, PRIMARY KEY (run_id, nth)) WITHOUT ROWID",
  );
  const insert = db.prepare("INSERT INTO steps VALUES (?, ?, ?)");
  let runs = 0;
  return {
    async commit(count: number): Promise<number> {
      runs += 1;
      const startedAt = performance.now();
      for (let nth = 0; nth < count; nth += 1) {
        insert.run(`run-${runs}`, nth, '{"count":1}');
        // Yields after each commit, as the run engine does.
        await new Promise((resolve) => setImmediate(resolve));
      }
      return performance.now() - startedAt;
    },
    close: () => db.close(),
  };
}
