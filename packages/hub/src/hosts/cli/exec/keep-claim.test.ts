import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { WAIT } from "../../../../../../test/support/timeouts.ts";
import { keepClaim } from "./keep-claim.ts";

it("renews until it is stopped", async () => {
  const renew = vi.fn(async () => {});
  const onLost = vi.fn();
  const stop = keepClaim({ renew, leaseMs: 15, onLost });
  await vi.waitFor(() => expect(renew.mock.calls.length).toBeGreaterThan(2), WAIT);
  stop();
  const { length } = renew.mock.calls;
  await sleep(50);
  expect(renew.mock.calls).toHaveLength(length);
  expect(onLost).not.toHaveBeenCalled();
});

it("reports a lost claim once, and not after it is stopped", async () => {
  const error = new Error("claimed by another worker");
  const onLost = vi.fn();
  keepClaim({ renew: () => Promise.reject(error), leaseMs: 3, onLost });
  await vi.waitFor(() => expect(onLost).toHaveBeenCalledExactlyOnceWith(error), WAIT);
  const ignored = vi.fn();
  let isRenewing = false;
  const stop = keepClaim({
    renew: (signal) =>
      new Promise((_, reject) => {
        isRenewing = true;
        signal.addEventListener("abort", () => reject(error));
      }),
    leaseMs: 3,
    onLost: ignored,
  });
  await vi.waitFor(() => expect(isRenewing).toBe(true), WAIT);
  stop();
  await sleep(20);
  expect(ignored).not.toHaveBeenCalled();
});
