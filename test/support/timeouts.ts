/** The time that a test waits for a condition before it fails. It is long, because the machine may be busy. */
export const MAX_WAIT_MS = 120_000;

/** Options for `vi.waitFor`. */
export const WAIT = { timeout: MAX_WAIT_MS, interval: 20 };

/** Vitest's timeouts, which only end tests that hang. */
export const timeouts = {
  testTimeout: 300_000,
  hookTimeout: 300_000,
  expect: { poll: { timeout: MAX_WAIT_MS } },
};
