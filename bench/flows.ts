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
  const parts: Record<string, Result> = {
    chain: await measureChain(options),
    burst: await measureBurst(options, cli, load),
    matching: await measureMatching(options),
    tools: await measureTools(options, cli, load),
  };
  const all = Object.values(parts);
  return {
    tables: all.flatMap(({ tables }) => tables),
    goals: all.flatMap(({ goals }) => goals),
    valid: all.every(({ valid }) => valid),
    data: Object.fromEntries(Object.entries(parts).map(([name, { data }]) => [name, data])),
  };
};
