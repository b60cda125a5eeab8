/**
 * `npm run bench -- reads`: store operations with backlogs of a thousand to a million pending events.
 * All backlogs are seeded first. Then the calls alternate between them, so that slow phases of the
 * machine affect all of them equally.
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
  /** Relative to the smallest backlog. */
  ratio: number;
}

export const reads: Benchmark = async (options) => {
  const sizes = options.quick ? [1_000, 10_000, 100_000] : [1_000, 10_000, 100_000, 1_000_000];
  const rounds = options.quick ? 5 : 10;
  const lines: Line[] = [];
  const seeded: Record<string, { size: number; bytes: number; seconds: number }[]> = {};
  for (const backend of options.backends) {
    const { backlogs, close } = await openBacklogs(backend, sizes, options.reportProgress);
    try {
      seeded[backend] = backlogs.map(({ size, bytes, seconds }) => ({ size, bytes, seconds }));
      for (const operation of operations) {
        options.reportProgress(`reads: ${backend}: ${operation.name}`);
        lines.push(...(await compare(backend, operation, backlogs, rounds)));
      }
    } finally {
      await close();
    }
  }
  return {
    tables: Object.entries(seeded).map(([backend, backlogs]) => ({
      title: `Reads: median µs per call, by number of pending events (${backend}; ${backlogs.map(({ bytes }) => megabytes(bytes)).join(", ")})`,
      text: formatLines(
        lines.filter((line) => line.backend === backend),
        sizes,
      ),
    })),
    goals: options.backends.map((backend) => goalOf(backend, lines, sizes.at(-1) as number)),
    isValid: true,
    data: { seeded, lines },
  };
};

async function compare(
  backend: Backend,
  operation: Operation,
  backlogs: readonly Backlog[],
  rounds: number,
): Promise<Line[]> {
  const durations = new Map<Backlog, number[]>(backlogs.map((backlog) => [backlog, []]));
  for (let round = 0; round <= rounds; round += 1)
    for (const [backlog, times] of durations) {
      for (let calls = 0; calls < operation.calls; calls += 1) {
        const call = operation.prepare(backlog);
        const start = performance.now();
        const result = await call();
        const micros = (performance.now() - start) * 1000;
        operation.check(result);
        if (round > 0) times.push(micros); // round 0 is the warm-up
      }
      await operation.restore?.(backlog);
      await new Promise((resolve) => setImmediate(resolve)); // yield, so that Ctrl+C works
    }
  const [smallest = []] = durations.values();
  return [...durations].map(([{ size }, times]) => ({
    backend,
    operation: operation.name,
    size,
    calls: times.length,
    median: median(times),
    p99: percentile(sorted(times), 0.99),
    ratio: median(times) / median(smallest),
  }));
}

function formatLines(lines: readonly Line[], sizes: readonly number[]): string {
  const names = [...new Set(lines.map(({ operation }) => operation))];
  const findLine = (operation: string, size: number) =>
    lines.find((line) => line.operation === operation && line.size === size);
  const largest = sizes.at(-1) as number;
  return table(
    ["operation", ...sizes.map(figure), "ratio", "p99, largest"],
    names.map((name) => [
      name,
      ...sizes.map((size) => figure(findLine(name, size)?.median ?? Number.NaN)),
      times(findLine(name, largest)?.ratio ?? Number.NaN),
      figure(findLine(name, largest)?.p99 ?? Number.NaN),
    ]),
  );
}

function goalOf(backend: Backend, lines: readonly Line[], largest: number): Goal {
  const flat = new Set(operations.filter(({ isFlat }) => isFlat).map(({ name }) => name));
  const [worst] = lines
    .filter((line) => line.backend === backend && line.size === largest && flat.has(line.operation))
    .sort((a, b) => b.ratio - a.ratio);
  return {
    what: `${backend}: status, list and get take at most ${GOAL_RATIO}× as long at ${figure(largest)} pending events as at 1,000`,
    isMet: (worst?.ratio ?? Number.POSITIVE_INFINITY) <= GOAL_RATIO,
    result: worst ? `at most ${times(worst.ratio)} (${worst.operation})` : "no measurement",
  };
}
