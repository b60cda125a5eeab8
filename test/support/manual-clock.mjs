/** Imported before the Worker: its monotonic clock advances only by `advanceClock`. */
let time = 0;
performance.now = () => time;
globalThis.advanceClock = (ms) => {
  time += ms;
};
