/** `npm run bench -- NAME`: runs a benchmark, prints its tables, and keeps its figures. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { agents } from "./agents.ts";
import type { Backend, Benchmark, Result } from "./benchmark.ts";
import { flows } from "./flows.ts";
import { ingest } from "./ingest.ts";
import { describeMachine, type Machine } from "./machine.ts";
import { memory } from "./memory.ts";
import { cleanUpAtTheEnd } from "./owned.ts";
import { parts } from "./parts.ts";
import { profile } from "./profile.ts";
import { reads } from "./reads.ts";
import { start } from "./start.ts";
import { figure } from "./table.ts";

const benchmarks: Record<string, Benchmark> = {
  ingest,
  reads,
  agents,
  flows,
  memory,
  start,
  parts,
  profile,
};
const inAll = ["start", "ingest", "reads", "agents", "flows", "memory"];

const usage = `Usage: npm run bench -- NAME [--quick] [--json] [--backend NAME] [--hub FILE] [--minutes N]

  ingest    webhooks per CPU-second and latency, beside a bare server; under a listing loop
  reads     status, list, get, mark, claim over ever larger backlogs
  agents    from a POST to an agent: latency, fan-out to 1,000 clients, calls over MCP
  flows     a chain of steps, a burst that starts runs, matching, flows as tools
  memory    what 200,000 deliveries leave behind
  start     time to the first answer, memory at rest
  parts     what ingest cannot do without, part by part, between floor and hub
  profile   where the hub spends its time at 64 at once
  all       ${inAll.join(", ")}

  --quick      a short run, for a first look
  --json       the results as JSON in place of tables
  --backend B  sqlite or postgres, where a benchmark takes both
  --hub FILE   measure this built cli.js, not this checkout
  --minutes N  give up after that time (60)

Results are also written to bench/results/NAME.json. docs/benchmarks.md says how to read them.`;

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    quick: { type: "boolean", default: false },
    json: { type: "boolean", default: false },
    help: { type: "boolean", short: "h", default: false },
    backend: { type: "string" },
    hub: { type: "string" },
    minutes: { type: "string", default: "60" },
  },
});
const backends = (["sqlite", "postgres"] as const).filter(
  (backend: Backend) => flags.backend === undefined || flags.backend === backend,
);
const names = positionals.includes("all") ? inAll : positionals;
const isClear =
  backends.length > 0 &&
  names.length > 0 &&
  names.every((name) => Object.hasOwn(benchmarks, name)) &&
  Number(flags.minutes) > 0;
if (flags.help || !isClear) {
  console.log(usage);
  process.exit(flags.help ? 0 : 2);
}

cleanUpAtTheEnd();
setTimeout(() => {
  console.error(`Gave up after ${flags.minutes} minutes.`);
  process.exit(1);
}, Number(flags.minutes) * 60_000);

const machine = describeMachine();
const tell = (text: string) => {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`);
};
const reports: Record<string, unknown> = {};
let valid = true;
for (const name of names) {
  const began = performance.now();
  const result = await (benchmarks[name] as Benchmark)({
    quick: flags.quick,
    backends,
    hub: flags.hub,
    tell,
  });
  tell("");
  const seconds = Math.round((performance.now() - began) / 1000);
  const { tables, ...rest } = result;
  const report = { benchmark: name, machine, quick: flags.quick, seconds, ...rest };
  reports[name] = report;
  valid &&= result.valid;
  const file = save(name, report);
  if (!flags.json)
    print(result, machine, `${seconds} s${flags.quick ? ", a quick run" : ""}; ${file}`);
}
if (flags.json) console.log(JSON.stringify(reports, null, 2));
process.exit(valid ? 0 : 1);

function save(name: string, report: unknown): string {
  const folder = join(import.meta.dirname, "results");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(report, null, 2)}\n`);
  return `bench/results/${name}.json`;
}

function print(
  { tables, goals, valid }: Result,
  { cores, cpu, node, fsyncMs, commit }: Machine,
  footer: string,
): void {
  for (const { title, text } of tables) console.log(`\n${title}\n\n${text}`);
  if (goals.length > 0) console.log("");
  for (const { what, met, found } of goals) console.log(`${met ? "✓" : "✗"} ${what}: ${found}`);
  if (!valid) console.log("\n✗ INVALID: requests were refused or lost; the figures mean nothing.");
  console.log(
    `\n${cores} cores (${cpu}), Node ${node}, fsync ${figure(fsyncMs)} ms, commit ${commit}`,
  );
  console.log(footer);
}
