/**
 * A chain of forty steps, each on disk before the next begins, against forty commits of the same
 * engine with the same settings and nothing else. The two take turns.
 */
import { join } from "node:path";
import { connect } from "../packages/hub/src/store/backends/sqlite.ts";
import type { Options, Result } from "./benchmark.ts";
import { flowNode, newRun, openEngine, publishFlow } from "./flow-engine.ts";
import { makeFolder, removeFolder } from "./owned.ts";
import { median, spread } from "./statistics.ts";
import { figure, range, table, times } from "./table.ts";

const STEPS = 40;
const GOAL = 2;

export async function measureChain({ quick, tell }: Options): Promise<Result> {
  const engine = openEngine();
  const folder = makeFolder();
  const bare = openBare(join(folder, "bare.db"));
  const [chainMs, bareMs, coldMs]: [number[], number[], number[]] = [[], [], []];
  try {
    const nodes = [
      flowNode("start", "UserIntent", { toolName: "t", toolDescription: "d" }),
      ...Array.from({ length: STEPS }, (_, at) =>
        flowNode(`n${at}`, "Transform", { expression: '{ "count": input.count + 1 }' }),
      ),
    ];
    const flow = await publishFlow(engine.store, nodes);
    const chain = async () => {
      const began = performance.now();
      const { ended } = await engine.runner.start(newRun(flow, "start", { count: 0 }));
      const { output } = await ended;
      if ((output as { count: number } | null)?.count !== STEPS)
        throw new Error(`the chain came to ${JSON.stringify(output)}`);
      return performance.now() - began;
    };
    const rounds = quick ? 30 : 100;
    // It is the number of steps that makes code warm.
    for (let warm = 0; warm < (quick ? 100 : 500); warm += 1) coldMs.push(await chain());
    for (let round = 1; round <= rounds; round += 1) {
      tell(`flows: chain: round ${round}`);
      bareMs.push(await bare.commit(STEPS));
      chainMs.push(await chain());
    }
  } finally {
    bare.close();
    removeFolder(folder);
    await engine.close();
  }
  const ratio = median(chainMs.map((ms, at) => ms / (bareMs[at] as number)));
  const line = (name: string, ms: number[]) => {
    const of = spread(ms);
    return [name, figure(of.median), range(of), figure((of.median / STEPS) * 1000)];
  };
  return {
    tables: [
      {
        title: `A chain of ${STEPS} Transform nodes, every step fsynced, SQLite`,
        text: table(
          ["what", "ms", "spread", "µs a step"],
          [
            line(`${STEPS} bare commits`, bareMs),
            line(`${STEPS} steps`, chainMs),
            line(`${STEPS} steps, the first 20 chains`, coldMs.slice(0, 20)),
          ],
        ),
      },
    ],
    goals: [
      {
        what: `${STEPS} durable steps within ${GOAL}× of ${STEPS} bare commits`,
        met: ratio <= GOAL,
        found: times(ratio),
      },
    ],
    valid: true,
    data: { chainMs, bareMs, coldMs, ratio },
  };
}

/** The same settings, a table like that of the steps, one row a commit. */
function openBare(file: string) {
  const db = connect(file);
  db.exec(
    "CREATE TABLE steps (run_id TEXT, nth BIGINT, output TEXT, PRIMARY KEY (run_id, nth)) WITHOUT ROWID",
  );
  const insert = db.prepare("INSERT INTO steps VALUES (?, ?, ?)");
  let runs = 0;
  return {
    async commit(count: number): Promise<number> {
      runs += 1;
      const began = performance.now();
      for (let nth = 0; nth < count; nth += 1) {
        insert.run(`run-${runs}`, nth, '{"count":1}');
        // As everything else of a process that is not only a loop, it comes back for more.
        await new Promise((resolve) => setImmediate(resolve));
      }
      return performance.now() - began;
    },
    close: () => db.close(),
  };
}
