/** Generous, because the machine may be busy: a timeout only ends a test that hangs. */
export const timeouts = {
  testTimeout: 120_000,
  hookTimeout: 180_000,
  expect: { poll: { timeout: 60_000 } },
};
