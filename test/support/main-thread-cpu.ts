import { expect } from "vitest";

/** Ten times the CPU time that serializing the largest hostile value takes. */
const MAX_CPU_MS = 500;

/**
 * Fails if `work` uses more than 500 ms of CPU time in this thread, which would block the event loop. Other
 * threads and processes of a busy machine do not affect the CPU time of this thread.
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
