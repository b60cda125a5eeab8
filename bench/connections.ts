/** `npm run bench -- connections`: calls of tools, and many idle connections. */
import type { Benchmark } from "./benchmark.ts";
import { measureCalls } from "./connection-calls.ts";
import { measureIdle } from "./connection-idle.ts";

export const connections: Benchmark = async (options) => {
  const results = [await measureCalls(options), await measureIdle(options)];
  return {
    tables: results.flatMap(({ tables }) => tables),
    goals: results.flatMap(({ goals }) => goals),
    isValid: results.every(({ isValid }) => isValid),
    data: results.map(({ data }) => data),
  };
};
