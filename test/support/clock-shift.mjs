/**
 * Preloaded into a hub with `--import`: shifts its wall clock by the number of milliseconds in the file
 * CLOCK_SHIFT, which it reads at the start and on SIGUSR2. Its monotonic clock is not changed. Timers of
 * more than 20 seconds, such as that of retention, fire 60 times faster.
 */
import { readFileSync } from "node:fs";

const { now } = Date;
const { setTimeout } = globalThis;
let shift = 0;
const read = () => {
  shift = Number(readFileSync(process.env.CLOCK_SHIFT, "utf8"));
  console.log(`the clock was shifted by ${shift} ms`);
};

Date.now = () => now() + shift;
globalThis.Date = class extends Date {
  constructor(...given) {
    super(...(given.length === 0 ? [Date.now()] : given));
  }
};
globalThis.setTimeout = (work, ms, ...given) =>
  setTimeout(work, ms > 20_000 ? ms / 60 : ms, ...given);
read();
process.on("SIGUSR2", read);
