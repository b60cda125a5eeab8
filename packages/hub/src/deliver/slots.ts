/** So many at a time for each key; whoever comes later waits for its turn. */
export function createSlots(most: number) {
  const busy = new Map<string, { count: number; waiting: (() => void)[] }>();

  return async <Result>(key: string, work: () => Promise<Result>): Promise<Result> => {
    const own = busy.get(key) ?? { count: 0, waiting: [] };
    busy.set(key, own);
    if (own.count < most) own.count += 1;
    else await new Promise<void>((turn) => own.waiting.push(turn));
    try {
      return await work();
    } finally {
      const next = own.waiting.shift();
      if (next) next();
      else own.count -= 1;
      if (own.count === 0) busy.delete(key);
    }
  };
}
