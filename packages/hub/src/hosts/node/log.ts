import { type Logger, pino } from "pino";
import sonicBoom, { type SonicBoom } from "sonic-boom";
import { logError } from "../log-error.ts";
import { formatEntry } from "./log-line.ts";

export type { Logger };

export interface LogOptions {
  level: string;
  format: "auto" | "json" | "pretty";
}

/** Log lines that wait for a slow reader. Further ones are dropped. */
const MAX_BUFFERED_BYTES = 16 * 1024 * 1024;
/** At the exit, a write that would block is repeated this often, every 100 ms. */
const MAX_RETRIES_AT_EXIT = 10;

/** JSON lines, or lines for people on a terminal. Writes are buffered, so they do not block requests. */
export async function createLog({ level, format }: LogOptions): Promise<Logger> {
  const pretty = format === "pretty" || (format === "auto" && process.stdout.isTTY === true);
  const stdout = openStdout(pretty ? {} : { minLength: 4096, periodicFlush: 250 });
  const to = pretty
    ? (await import("pino-pretty")).default({
        destination: stdout,
        colorize: process.stdout.isTTY === true && !process.env.NO_COLOR,
        translateTime: "SYS:HH:MM:ss",
        customPrettifiers: { time: String },
        messageFormat: (entry, _key, _label, { colors }) => formatEntry(entry, colors.dim),
        hideObject: true,
      })
    : stdout;
  const serializers = { err: logError };
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers }, to);
}

/**
 * Stdout without a reader, as after `signalbox serve | head`, must neither end nor block the hub: log
 * lines are dropped then. Not `pino.destination`, which at the exit repeats a failed write for ever.
 */
function openStdout(options: { minLength?: number; periodicFlush?: number }): SonicBoom {
  let retriesLeft = Number.POSITIVE_INFINITY;
  // Node finds no named exports in this CommonJS module.
  const stdout = new sonicBoom.SonicBoom({
    fd: 1,
    sync: false,
    maxLength: MAX_BUFFERED_BYTES,
    retryEAGAIN: () => retriesLeft-- > 0,
    ...options,
  });
  stdout.on("error", () => {
    stdout.write = () => true;
    stdout.flushSync = () => {};
  });
  process.on("exit", () => {
    retriesLeft = MAX_RETRIES_AT_EXIT;
    try {
      stdout.flushSync();
    } catch {
      // The reader is gone, or does not read.
    }
  });
  return stdout;
}
