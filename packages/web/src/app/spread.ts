/**
 * A delay around `ms`. All tabs learn of a change at the same moment: with the same delay, their
 * requests would reach the hub together, and webhooks would wait behind them.
 */
export const spread = (ms: number): number => ms * (0.75 + Math.random() / 2);
