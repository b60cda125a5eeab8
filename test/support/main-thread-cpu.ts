import { expect } from "vitest";

/** To serialize the largest of the hostile values takes some 50 ms. */
const MAX_CPU_MS = 500;

/**
 * Fails if `work` takes much CPU time of this thread, and so blocks the event loop. CPU time does not
 * depend on other threads and processes, so a busy machine does not matter.
 */
export async function withoutBlocking<Result>(
  work: () => Result | Promise<Result>,
): Promise<Result> {
  const before = process.threadCpuUsage();
  const result = await work();
  const { user, system } = process.threadCpuUsage(before);
  expect((user + system) / 1000).toBeLessThan(MAX_CPU_MS);
  return result;
}
