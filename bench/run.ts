/** `npm run bench -- NAME`: runs a benchmark, prints its tables and writes its figures to a file. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { agents } from "./agents.ts";
import type { Backend, Benchmark, Result } from "./benchmark.ts";
import { callbacks } from "./callbacks.ts";
import { cleanUpOnExit } from "./cleanup.ts";
import { connections } from "./connections.ts";
import { filters } from "./filters.ts";
import { flows } from "./flows.ts";
import { hostile } from "./hostile.ts";
import { ingest } from "./ingest.ts";
import { describeMachine, type Machine } from "./machine.ts";
import { matching } from "./matching.ts";
import { memory } from "./memory.ts";
import { parts } from "./parts.ts";
import { profile } from "./profile.ts";
import { reads } from "./reads.ts";
import { retention } from "./retention.ts";
import { soak } from "./soak.ts";
import { stalls } from "./stalls.ts";
import { start } from "./start.ts";
import { figure } from "./table.ts";
import { tabs } from "./tabs.ts";
import { workerd } from "./workerd.ts";

const benchmarks: Record<string, Benchmark> = {
  ingest,
  callbacks,
  reads,
  agents,
  flows,
  connections,
  memory,
  start,
  tabs,
  workerd,
  hostile,
  stalls,
  matching,
  filters,
  retention,
  soak,
  parts,
  profile,
};
/** The benchmarks that `all` runs. */
const namesInAll = [
  "start",
  "ingest",
  "callbacks",
  "reads",
  "agents",
  "flows",
  "connections",
  "memory",
];

const usage = `Usage: npm run bench -- NAME [--quick] [--json] [--backend NAME] [--hub FILE] [--minutes N]

  ingest       webhooks per CPU-second and latency, compared with two reference servers; with a listing loop
  callbacks    callbacks of MCP servers per CPU-second, compared with webhooks
  reads        status, list, get, mark and claim with growing backlogs
  agents       latency from a POST to a client, fan-out to 1,000 clients, MCP calls
  flows        a chain of steps, a burst that starts runs, matching, flows as tools
  connections  calls of a tool compared with the bare SDK client; 1,000 idle connections
  memory       memory of the hub during 200,000 webhooks
  start        time to the first response, memory of an idle hub
  tabs         webhooks while ten tabs of a browser show the inbox
  workerd      webhooks on workerd, compared with a minimal Worker that stores the same row
  hostile      /healthz while hostile expressions, schemas and code of flow authors run
  stalls       runs of innocent flows while others wait for a dead server, or one tenant floods
  matching     webhooks and explanations while 10,000 flows listen to one event type
  filters      webhooks whose trigger has a filter, compared with a trigger without one
  retention    webhooks while retention removes 300,000 events; the size of the file afterwards
  soak         200 webhooks per second while all attacks on the hub's limits run
  parts        CPU of a webhook, split into HMAC, parsing and storage
  profile      CPU profile of the hub at concurrency 64
  all          ${namesInAll.join(", ")}

  --quick      a short run with fewer rounds
  --json       print the results as JSON instead of tables
  --backend B  sqlite or postgres; the default is both
  --hub FILE   measure this built bin/signalbox.js instead of this checkout's
  --minutes N  abort after this time (60); for soak, the time of the attacks (10)

Results are also written to bench/results/NAME.json. docs/benchmarks.md explains them.`;

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    help: { type: "boolean", short: "h", default: false },
    backend: { type: "string" },
    hub: { type: "string" },
    minutes: { type: "string" },
  },
});
const backends = (["sqlite", "postgres"] as const).filter(
  (backend: Backend) => flags.backend === undefined || flags.backend === backend,
);
const minutes = flags.minutes === undefined ? undefined : Number(flags.minutes);
const names = positionals.includes("all") ? namesInAll : positionals;
const areArgumentsValid =
  backends.length > 0 &&
  names.length > 0 &&
  names.every((name) => Object.hasOwn(benchmarks, name)) &&
  (minutes === undefined || minutes > 0);
if (flags.help || !areArgumentsValid) {
  console.log(usage);
  process.exit(flags.help ? 0 : 2);
}

cleanUpOnExit();
const abortMinutes = names.includes("soak") ? 60 + 2 * (minutes ?? 10) : (minutes ?? 60);
setTimeout(() => {
  console.error(`Aborted after ${abortMinutes} minutes.`);
  process.exit(1);
}, abortMinutes * 60_000);

const machine = describeMachine();
const reportProgress = (text: string) => {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
};
const records: Record<string, unknown> = {};
let areAllValid = true;
for (const name of names) {
  const startedAt = performance.now();
  const result = await (benchmarks[name] as Benchmark)({
    quick: flags.quick,
    backends,
    hub: flags.hub,
    minutes,
    reportProgress,
  });
  reportProgress("");
  const seconds = Math.round((performance.now() - startedAt) / 1000);
  const { tables: _, ...figures } = result;
  const record = { benchmark: name, machine, quick: flags.quick, seconds, ...figures };
  records[name] = record;
  areAllValid &&= result.isValid;
  const file = save(name, record);
  if (!flags.json)
    print(result, machine, `${seconds} s${flags.quick ? ", quick run" : ""}; ${file}`);
}
if (flags.json) console.log(JSON.stringify(records, null, 2));
process.exit(areAllValid ? 0 : 1);

function save(name: string, record: unknown): string {
  const folder = join(import.meta.dirname, "results");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(record, null, 2)}\n`);
  return `bench/results/${name}.json`;
}

function print(
  { tables, goals, isValid }: Result,
  { cores, cpu, node, fsyncMs, commit }: Machine,
  footer: string,
): void {
  for (const { title, text } of tables) console.log(`\n${title}\n\n${text}`);
  if (goals.length > 0) console.log("");
  for (const { what, isMet, result } of goals)
    console.log(`${isMet ? "✓" : "✗"} ${what}: ${result}`);
  if (!isValid) console.log("\n✗ INVALID: requests were rejected or lost; ignore the figures.");
  console.log(
    `\n${cores} cores (${cpu}), Node ${node}, fsync ${figure(fsyncMs)} ms, commit ${commit}`,
  );
  console.log(footer);
}
