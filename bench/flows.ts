/** `npm run bench -- flows`: the cost of runs, and their effect on webhooks. */
import type { Benchmark, Result } from "./benchmark.ts";
import { measureBurst } from "./flow-burst.ts";
import { measureChain } from "./flow-chain.ts";
import { measureMatching } from "./flow-matching.ts";
import { measureTools } from "./flow-tools.ts";
import { findCli } from "./hub-process.ts";
import { startLoad } from "./load-process.ts";

export const flows: Benchmark = async (options) => {
  const cli = findCli(options.hub);
  const load = startLoad();
  const results: Record<string, Result> = {
    chain: await measureChain(options),
    burst: await measureBurst(options, cli, load),
    matching: await measureMatching(options),
    tools: await measureTools(options, cli, load),
  };
  const all = Object.values(results);
  return {
    tables: all.flatMap(({ tables }) => tables),
    goals: all.flatMap(({ goals }) => goals),
    isValid: all.every(({ isValid }) => isValid),
    data: Object.fromEntries(Object.entries(results).map(([name, { data }]) => [name, data])),
  };
};
