import { BoundedMap } from "../lib/bounded-map.ts";
import type { Timers } from "../lib/timers.ts";
import type { Store } from "../store/store.ts";

const EVERY_MS = 60_000;
const TRACKED = 10_000;

/** Stores when a token was last used: at most once a minute per token, without delaying the request. */
export function createLastUse(
  store: Pick<Store, "touchTokens">,
  { now, monotonic }: Pick<Timers, "now" | "monotonic">,
  onError: (error: unknown) => void,
): (token: string) => void {
  const stored = new BoundedMap<string, number>(TRACKED);
  return (token) => {
    const at = monotonic();
    if (at - (stored.get(token) ?? Number.NEGATIVE_INFINITY) < EVERY_MS) return;
    stored.set(token, at);
    store.touchTokens([token], now()).catch(onError);
  };
}
