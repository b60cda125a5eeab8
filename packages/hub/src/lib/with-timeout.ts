import type { Timers } from "./timers.ts";

/** The result of `work`, or a rejection with `message` when it takes longer than `ms`. */
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
