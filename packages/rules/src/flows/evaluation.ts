/**
 * Code of people whom the process does not belong to. Whoever implements `Evaluate` promises: it
 * reaches nothing but its data, leaves nothing behind for the next one, ends within its limits, and
 * nothing else waits for it meanwhile. What goes wrong with the code is an outcome, not an error.
 */
import type { Json, JsonObject } from "../json.ts";

export interface Evaluation {
  language: "javascript" | "jsonata";
  code: string;
  /** By the names that the code knows them by. */
  data: JsonObject;
  /** Of computing, not of waiting for its turn. */
  timeoutMs: number;
  memoryMb: number;
}

type EvaluationFault = "code_failed" | "code_timeout" | "code_out_of_memory" | "output_too_large";

/** By the function of `console` that wrote it. */
export const LOG_LEVELS = ["log", "debug", "info", "warn", "error"] as const;
export interface LogLine {
  level: (typeof LOG_LEVELS)[number];
  text: string;
}

export type Evaluated = { log: LogLine[] } & (
  | { output: Json }
  | { fault: EvaluationFault; message: string }
);

export interface EvaluationAsker {
  /** Whose turn it takes: who asks for much does not keep the others waiting. */
  tenant: string;
  signal: AbortSignal;
  /** Called where it has to wait for its turn; what that answers with is called when it has come. */
  hold?: () => () => void;
}

/** Rejects where the signal is aborted, or there is nobody to evaluate it. */
export type Evaluate = (evaluation: Evaluation, asker: EvaluationAsker) => Promise<Evaluated>;

/** The same as JSON all the way, so that nothing of either side gets to the other. */
export type SpelledEvaluation = Omit<Evaluation, "data"> & { data: string };
export type SpelledEvaluated = { log: LogLine[] } & (
  | { output: string }
  | { fault: EvaluationFault; message: string }
);

/** What a thread says when it can begin. */
export const READY = "ready";

export const MOST_DATA = 16_000_000;
export const MOST_OUTPUT = 4_000_000;
export const MOST_DEPTH = 200;
export const MOST_LOG_LINES = 100;
export const MOST_LOG_LETTERS = 1000;

/** Reading it is one step, which cannot be interrupted. */
export const tooMuchData = {
  fault: "code_out_of_memory",
  message: `would have to read more than ${MOST_DATA} characters of data as JSON`,
} as const;

export const tooLarge = {
  fault: "output_too_large",
  message: `gives more than ${MOST_OUTPUT} characters as JSON`,
} as const;

export const tookTooLong = (timeoutMs: number) =>
  ({ fault: "code_timeout", message: `took more than ${timeoutMs} ms to compute` }) as const;

export const tookTooMuch = (memoryMb: number) =>
  ({ fault: "code_out_of_memory", message: `needs more than ${memoryMb} MB of memory` }) as const;
