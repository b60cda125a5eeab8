/** Runs the work of each key sequentially, in the order of the calls. */
type Mutex = <Result>(key: string, work: () => Promise<Result>) => Promise<Result>;

export function createMutex(): Mutex {
  const tails = new Map<string, Promise<unknown>>();
  return async <Result>(key: string, work: () => Promise<Result>): Promise<Result> => {
    const result = (tails.get(key) ?? Promise.resolve()).then(work, work);
    const tail = result.catch(() => {});
    tails.set(key, tail);
    try {
      return await result;
    } finally {
      if (tails.get(key) === tail) tails.delete(key);
    }
  };
}
