import type { Log } from "../../kernel/lib/log.ts";
import { serializeError } from "../serialize-error.ts";

/** JSON lines on the console, which `wrangler tail` and Workers Logs show. */
export function createConsoleLog(level: string): Log {
  const write = (name: "info" | "warn" | "error") => (facts: object, msg: string) => {
    if (LEVELS.indexOf(name) < LEVELS.indexOf(level)) return;
    const err = "err" in facts ? { err: serializeError(facts.err) } : {};
    console[name](JSON.stringify({ level: name, ...facts, ...err, msg }));
  };
  return { info: write("info"), warn: write("warn"), error: write("error") };
}

const LEVELS = ["trace", "debug", "info", "warn", "error", "fatal", "silent"];
