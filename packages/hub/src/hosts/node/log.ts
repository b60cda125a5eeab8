import { type DestinationStream, destination, type Logger, pino } from "pino";
import { logError } from "../log-error.ts";
import { formatEntry } from "./log-line.ts";

export type { Logger };

export interface LogOptions {
  level: string;
  format: "auto" | "json" | "pretty";
}

/** JSON lines, or lines for people on a terminal. Writes are buffered, so they do not block requests. */
export async function createLog({ level, format }: LogOptions): Promise<Logger> {
  const pretty = format === "pretty" || (format === "auto" && process.stdout.isTTY === true);
  const to: DestinationStream = pretty
    ? (await import("pino-pretty")).default({
        colorize: process.stdout.isTTY === true && !process.env.NO_COLOR,
        translateTime: "SYS:HH:MM:ss",
        customPrettifiers: { time: String },
        messageFormat: (entry, _key, _label, { colors }) => formatEntry(entry, colors.dim),
        hideObject: true,
        sync: false,
      })
    : destination({ dest: 1, sync: false, minLength: 4096, periodicFlush: 250 });
  const serializers = { err: logError };
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers }, to);
}
