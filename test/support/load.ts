/**
 * Returns the size of a load test. By default, this is a fifth of the full load, which finds the same errors.
 * `TEST_LOAD=full npm test` uses the full load.
 */
export const loadOf = (full: number): number =>
  process.env.TEST_LOAD === "full" ? full : full / 5;
