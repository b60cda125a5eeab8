import { type Logger, pino } from "pino";
import sonicBoom, { type SonicBoom } from "sonic-boom";
import { serializeError } from "../serialize-error.ts";
import { formatEntry } from "./log-line.ts";

export type { Logger };

export interface LogOptions {
  level: string;
  format: "auto" | "json" | "pretty";
}

/** The maximum size of the log lines that wait for a slow reader of stdout. Further lines are dropped. */
const MAX_BUFFERED_BYTES = 16 * 1024 * 1024;
/** On exit, a write that would block is retried at most this often, every 100 ms. */
const MAX_RETRIES_ON_EXIT = 10;

/** Logs JSON lines, or lines for people on a terminal. Writes are buffered, so they do not block requests. */
export async function createLog({ level, format }: LogOptions): Promise<Logger> {
  const isPretty = format === "pretty" || (format === "auto" && process.stdout.isTTY === true);
  const stdout = openStdout(isPretty ? {} : { minLength: 4096, periodicFlush: 250 });
  const destination = isPretty
    ? (await import("pino-pretty")).default({
        destination: stdout,
        colorize: process.stdout.isTTY === true && !process.env.NO_COLOR,
        translateTime: "SYS:HH:MM:ss",
        customPrettifiers: { time: String },
        messageFormat: (entry, _key, _label, { colors }) => formatEntry(entry, colors.dim),
        hideObject: true,
      })
    : stdout;
  const serializers = { err: serializeError };
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers },
    destination,
  );
}

/**
 * Opens stdout. If its reader has exited, as in `signalbox serve | head`, log lines are dropped: the hub
 * must neither end nor block. `pino.destination` would retry a failed write endlessly on exit.
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
    // Drops all further lines.
    stdout.write = () => true;
    stdout.flushSync = () => {};
  });
  process.on("exit", () => {
    retriesLeft = MAX_RETRIES_ON_EXIT;
    try {
      stdout.flushSync();
    } catch {
      // The reader has exited, or does not read.
    }
  });
  return stdout;
}
