/** Replaces the monotonic clock of a Worker that is imported after this file. Only `advanceClock` advances it. */
let time = 0;
performance.now = () => time;
globalThis.advanceClock = (ms) => {
  time += ms;
};
