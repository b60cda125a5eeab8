export interface KeepClaimOptions {
  renew(signal: AbortSignal): Promise<void>;
  leaseMs: number;
  /** Called once if the claim cannot be renewed. */
  onLost(error: unknown): void;
}

/**
 * Renews a claim each time a third of its lease has passed, until the claim is lost. Returns a function
 * that stops the renewals.
 */
export function keepClaim({ renew, leaseMs, onLost }: KeepClaimOptions): () => void {
  const stop = new AbortController();
  const { signal } = stop;
  const schedule = () => setTimeout(renewNow, leaseMs / 3);
  const renewNow = () =>
    renew(signal).then(
      () => {
        if (!signal.aborted) timer = schedule();
      },
      (error: unknown) => {
        if (!signal.aborted) onLost(error);
      },
    );
  let timer = schedule();
  return () => {
    stop.abort();
    clearTimeout(timer);
  };
}
