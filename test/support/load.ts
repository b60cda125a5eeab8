/**
 * The size of a load test. The normal run uses a fifth of the full load, which finds the same errors;
 * `TEST_LOAD=full npm test` uses all of it.
 */
export const loadOf = (full: number): number =>
  process.env.TEST_LOAD === "full" ? full : full / 5;
