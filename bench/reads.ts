/**
 * `npm run bench -- reads`: what agents do, over backlogs of a thousand to a million pending events.
 * All backlogs are seeded first; then the same call goes to each in turn, so that a slow moment of
 * the machine falls on all of them alike.
 */

import { type Backlog, openBacklogs } from "./backlog.ts";
import type { Backend, Benchmark, Goal } from "./benchmark.ts";
import { type Operation, operations } from "./operations.ts";
import { median, percentile, sorted } from "./statistics.ts";
import { figure, megabytes, table, times } from "./table.ts";

const GOAL_RATIO = 1.5;

interface Line {
  backend: Backend;
  operation: string;
  size: number;
  calls: number;
  /** Microseconds. */
  median: number;
  p99: number;
  /** To the smallest backlog. */
  ratio: number;
}

export const reads: Benchmark = async (options) => {
  const sizes = options.quick ? [1_000, 10_000, 100_000] : [1_000, 10_000, 100_000, 1_000_000];
  const rounds = options.quick ? 5 : 10;
  const lines: Line[] = [];
  const seeded: Record<string, { size: number; bytes: number; seconds: number }[]> = {};
  for (const backend of options.backends) {
    const { backlogs, close } = await openBacklogs(backend, sizes, options.tell);
    try {
      seeded[backend] = backlogs.map(({ size, bytes, seconds }) => ({ size, bytes, seconds }));
      for (const operation of operations) {
        options.tell(`reads: ${backend}: ${operation.name}`);
        lines.push(...(await compare(backend, operation, backlogs, rounds)));
      }
    } finally {
      await close();
    }
  }
  return {
    tables: Object.entries(seeded).map(([backend, backlogs]) => ({
      title: `Reads: median µs of a call, by pending events (${backend}; ${backlogs.map(({ bytes }) => megabytes(bytes)).join(", ")})`,
      text: show(
        lines.filter((line) => line.backend === backend),
        sizes,
      ),
    })),
    goals: options.backends.map((backend) => goalOf(backend, lines, sizes.at(-1) as number)),
    valid: true,
    data: { seeded, lines },
  };
};

async function compare(
  backend: Backend,
  operation: Operation,
  backlogs: readonly Backlog[],
  rounds: number,
): Promise<Line[]> {
  const taken = new Map<Backlog, number[]>(backlogs.map((backlog) => [backlog, []]));
  for (let round = 0; round <= rounds; round += 1)
    for (const [backlog, times] of taken) {
      for (let call = 0; call < operation.calls; call += 1) {
        const act = operation.prepare(backlog);
        const start = performance.now();
        const result = await act();
        const micros = (performance.now() - start) * 1000;
        operation.check(result);
        if (round > 0) times.push(micros); // the first round makes the code and the caches warm
      }
      await operation.restore?.(backlog);
      await new Promise((resolve) => setImmediate(resolve)); // a turn for Ctrl+C
    }
  const [smallest = []] = taken.values();
  return [...taken].map(([{ size }, times]) => ({
    backend,
    operation: operation.name,
    size,
    calls: times.length,
    median: median(times),
    p99: percentile(sorted(times), 0.99),
    ratio: median(times) / median(smallest),
  }));
}

function show(lines: readonly Line[], sizes: readonly number[]): string {
  const names = [...new Set(lines.map(({ operation }) => operation))];
  const of = (operation: string, size: number) =>
    lines.find((line) => line.operation === operation && line.size === size);
  const largest = sizes.at(-1) as number;
  return table(
    ["operation", ...sizes.map((size) => size.toLocaleString("en")), "ratio", "p99 at most"],
    names.map((name) => [
      name,
      ...sizes.map((size) => figure(of(name, size)?.median ?? Number.NaN)),
      times(of(name, largest)?.ratio ?? Number.NaN),
      figure(of(name, largest)?.p99 ?? Number.NaN),
    ]),
  );
}

function goalOf(backend: Backend, lines: readonly Line[], largest: number): Goal {
  const flat = new Set(operations.filter(({ flat }) => flat).map(({ name }) => name));
  const [worst] = lines
    .filter((line) => line.backend === backend && line.size === largest && flat.has(line.operation))
    .sort((a, b) => b.ratio - a.ratio);
  return {
    what: `${backend}: status, list and get at ${largest.toLocaleString("en")} pending within ${GOAL_RATIO}× of 1,000`,
    met: (worst?.ratio ?? Number.POSITIVE_INFINITY) <= GOAL_RATIO,
    found: worst ? `at most ${times(worst.ratio)} (${worst.operation})` : "nothing",
  };
}
