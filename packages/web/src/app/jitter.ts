/**
 * Random delays. The hub notifies all tabs of a change at the same moment. With the same delay, their
 * requests would reach the hub together and delay webhooks.
 */

/** A random delay from 75 % to 125 % of `ms`. */
export const jitter = (ms: number): number => ms * (0.75 + Math.random() / 2);

/** A random delay that people do not notice, before the first request after a quiet time. */
export const firstDelay = (): number => Math.random() * 300;
