/**
 * Random delays. All tabs learn of a change at the same moment: with the same delay, their requests
 * would reach the hub together, and webhooks would wait behind them.
 */

/** A delay around `ms`. */
export const spread = (ms: number): number => ms * (0.75 + Math.random() / 2);

/** A delay that people do not notice, before the first request after a quiet time. */
export const soon = (): number => Math.random() * 300;
