/**
 * Shifts the wall clock of a hub that preloads this file with `--import`. The environment variable
 * CLOCK_SHIFT names a file with the number of milliseconds, which is read at the start and on SIGUSR2. The
 * monotonic clock does not change. Timers of more than 20 seconds, such as the timer of retention, fire
 * after a 60th of their time.
 */
import { readFileSync } from "node:fs";

const { now } = Date;
const { setTimeout } = globalThis;
let shift = 0;
const readShift = () => {
  shift = Number(readFileSync(process.env.CLOCK_SHIFT, "utf8"));
  console.log(`the clock was shifted by ${shift} ms`);
};

Date.now = () => now() + shift;
globalThis.Date = class extends Date {
  constructor(...args) {
    super(...(args.length === 0 ? [Date.now()] : args));
  }
};
globalThis.setTimeout = (work, ms, ...args) =>
  setTimeout(work, ms > 20_000 ? ms / 60 : ms, ...args);
readShift();
process.on("SIGUSR2", readShift);
