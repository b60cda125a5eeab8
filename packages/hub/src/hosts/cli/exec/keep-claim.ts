/** Renews a claim at a third of its lease until it is stopped or lost. */
import { setTimeout as sleep } from "node:timers/promises";

export interface KeepClaimOptions {
  renew(signal: AbortSignal): Promise<void>;
  leaseMs: number;
  /** Called once if the claim cannot be renewed. */
  onLost(error: unknown): void;
}

/** Returns a function that stops the renewals. */
export function keepClaim({ renew, leaseMs, onLost }: KeepClaimOptions): () => void {
  const stop = new AbortController();
  const { signal } = stop;
  const loop = async () => {
    for (;;) {
      await sleep(leaseMs / 3, undefined, { signal });
      await renew(signal);
    }
  };
  loop().catch((error: unknown) => {
    if (!signal.aborted) onLost(error);
  });
  return () => stop.abort();
}
