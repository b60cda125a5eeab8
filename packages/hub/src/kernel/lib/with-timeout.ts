import type { Timers } from "./timers.ts";

/** Returns the result of `work`, or rejects with `message` after `ms`. It does not cancel the work. */
export async function withTimeout<Result>(
  { after }: Pick<Timers, "after">,
  ms: number,
  work: Promise<Result>,
  message: string,
): Promise<Result> {
  let cancel = () => {};
  const timeout = new Promise<never>((_, reject) => {
    cancel = after(ms, () => reject(new Error(message)));
  });
  try {
    return await Promise.race([work, timeout]);
  } finally {
    cancel();
  }
}
