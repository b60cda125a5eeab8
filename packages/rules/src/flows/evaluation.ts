/**
 * Programs of flow authors: code, expressions, schemas, comparisons and paths. The hub evaluates each one in
 * a job: in a sandbox, with limits of time and memory. If a program fails, its result is an error.
 */
import type { MaybeLarge, MixedJson } from "../large-json.ts";

export interface Selection {
  paths: readonly (readonly (string | number)[])[];
  /** The limit for all values together, as JSON. */
  maxBytes: number;
}

/** `job` is the name of the job. To add one, add a member here and its function in the hub's flows/jobs.ts. */
type Program =
  | { job: "javascript"; code: string; memoryMb: number }
  /** Parses code without running it. */
  | { job: "javascript-syntax"; expressions: readonly string[] }
  | { job: "jsonata"; expression: string }
  | { job: "jsonata-filters"; expressions: readonly string[] }
  | { job: "jsonata-analysis"; expressions: readonly string[] }
  /** The data is the list of checks of validate-schema.ts. */
  | { job: "json-schema" }
  /** The data is the list of comparisons of compare.ts. */
  | { job: "comparisons" }
  /** Reads values of large data by their paths. The values are the `parts` of the result. */
  | ({ job: "select" } & Selection);

interface Limits {
  /** Limits the evaluation itself; time in the queue does not count. */
  timeoutMs: number;
}

/** If the data is bytes, they are JSON in UTF-8. */
export type Evaluation = Program & Limits & { data: MixedJson | Uint8Array };
/** The data is JSON. */
export type SerializedProgram = Program & Limits & { data: string };

type EvaluationErrorCode =
  | "code_failed"
  | "code_timeout"
  | "code_out_of_memory"
  | "output_too_large"
  | "selection_too_large";

export interface EvaluationError {
  error: EvaluationErrorCode;
  message: string;
}

/** The methods of `console`. */
export const LOG_LEVELS = ["log", "debug", "info", "warn", "error"] as const;
export interface LogLine {
  level: (typeof LOG_LEVELS)[number];
  text: string;
}

export type EvaluationResult = { log: LogLine[] } & (
  | { output: MaybeLarge; parts?: readonly (MaybeLarge | undefined)[] }
  | EvaluationError
);

/** The output is JSON. */
export type SerializedResult = { log: LogLine[] } & (
  | {
      output: string;
      /** More results of the program, each as JSON text: a large one is passed on without parsing it. */
      parts?: readonly (string | undefined)[];
    }
  | EvaluationError
);

/** Larger than any payload that a source accepts. */
export const MAX_DATA_CHARACTERS = 32_000_000;
export const MAX_OUTPUT_CHARACTERS = 4_000_000;
export const MAX_OUTPUT_DEPTH = 200;
export const MAX_LOG_LINES = 100;
export const MAX_LOG_LINE_CHARACTERS = 1000;

/** The messages of this error and those below complete a sentence that starts with "The code". */
export const dataTooLarge = {
  error: "code_out_of_memory",
  message: `would read more than ${MAX_DATA_CHARACTERS} characters of data as JSON`,
} as const;

export const outputTooLarge = {
  error: "output_too_large",
  message: `returns more than ${MAX_OUTPUT_CHARACTERS} characters as JSON`,
} as const;

export const outputTooDeep = {
  error: "output_too_large",
  message: `returns JSON nested deeper than ${MAX_OUTPUT_DEPTH} levels`,
} as const;

export const timeLimitExceeded = (timeoutMs: number) =>
  ({
    error: "code_timeout",
    message: `exceeds the time limit of ${timeoutMs % 1000 === 0 ? `${timeoutMs / 1000} s` : `${timeoutMs} ms`}`,
  }) as const;

export const memoryLimitExceeded = (memoryMb: number) =>
  ({
    error: "code_out_of_memory",
    message: `exceeds the memory limit of ${memoryMb} MB`,
  }) as const;
