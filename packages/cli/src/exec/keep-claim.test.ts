import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { keepClaim } from "./keep-claim.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it("renews the claim after each third of the lease until it is stopped", async () => {
  const renew = vi.fn(async () => {});
  const onLost = vi.fn();
  const stop = keepClaim({ renew, leaseMs: 30, onLost });
  await vi.advanceTimersByTimeAsync(35);
  expect(renew).toHaveBeenCalledTimes(3);
  stop();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(renew).toHaveBeenCalledTimes(3);
  expect(onLost).not.toHaveBeenCalled();
});

it("reports a lost claim once, but not after the renewals are stopped", async () => {
  const error = new Error("claimed by another worker");
  const onLost = vi.fn();
  keepClaim({ renew: () => Promise.reject(error), leaseMs: 30, onLost });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(onLost).toHaveBeenCalledExactlyOnceWith(error);

  const onLostAfterStop = vi.fn();
  const renewal = Promise.withResolvers<void>();
  const stop = keepClaim({ renew: () => renewal.promise, leaseMs: 30, onLost: onLostAfterStop });
  await vi.advanceTimersByTimeAsync(10);
  stop();
  renewal.reject(error);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(onLostAfterStop).not.toHaveBeenCalled();
});
