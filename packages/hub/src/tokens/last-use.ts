import { BoundedMap } from "../kernel/lib/bounded-map.ts";
import type { Timers } from "../kernel/lib/timers.ts";
import type { Store } from "../store.ts";

const INTERVAL_MS = 60_000;
const MAX_TRACKED_TOKENS = 10_000;

/** Stores when a token was last used: at most once a minute per token, without delaying the request. */
export function createLastUse(
  store: Pick<Store, "touchTokens">,
  { now, monotonic }: Pick<Timers, "now" | "monotonic">,
  onError: (error: unknown) => void,
): (token: string) => void {
  const storedAt = new BoundedMap<string, number>(MAX_TRACKED_TOKENS);
  return (token) => {
    const at = monotonic();
    if (at - (storedAt.get(token) ?? Number.NEGATIVE_INFINITY) < INTERVAL_MS) return;
    storedAt.set(token, at);
    store.touchTokens([token], now()).catch(onError);
  };
}
