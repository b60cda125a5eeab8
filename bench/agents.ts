/** `npm run bench -- agents`: latency of live streams, fan-out, and MCP calls. */
import { measureFanOut } from "./agents-fan-out.ts";
import { measureLatency } from "./agents-latency.ts";
import { measureMcp } from "./agents-mcp.ts";
import type { Benchmark, Result } from "./benchmark.ts";
import { findCli } from "./hub-process.ts";
import { startLoad } from "./load-process.ts";

export const agents: Benchmark = async (options) => {
  const cli = findCli(options.hub);
  const load = startLoad();
  const latency = await measureLatency(options, cli, load);
  const fanOut = await measureFanOut(options, cli, load);
  const mcp = await measureMcp(options, cli, load);
  const results: Result[] = [latency, fanOut, mcp];
  return {
    tables: results.flatMap(({ tables }) => tables),
    goals: results.flatMap(({ goals }) => goals),
    isValid: results.every(({ isValid }) => isValid),
    data: { latency: latency.data, fanOut: fanOut.data, mcp: mcp.data },
  };
};
