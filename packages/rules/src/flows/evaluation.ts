/**
 * Types of the sandbox, which evaluates programs: code, expressions and schemas of flow authors, and
 * programs of the hub that read large values. An implementation of `Evaluate` guarantees that a program
 * can access only its data, shares no state with other programs, and ends within its limits. On a host
 * with threads it does not block the event loop. If a program fails, the promise resolves with an error.
 */
import type { MaybeLarge, MixedJson } from "../large-json.ts";
import type { MatchEvent } from "../match/match-trigger.ts";
import type { PartRequest, PayloadConditions } from "../match/payload-part.ts";
import type { Selection } from "./select.ts";

/** To add a language, add a member here and its evaluator in the hub's sandbox/evaluators.ts. */
export type Program =
  | { language: "javascript"; code: string; memoryMb: number }
  /** Parses code without running it. */
  | { language: "javascript-syntax"; expressions: readonly string[] }
  | { language: "jsonata"; expression: string }
  | { language: "jsonata-filters"; expressions: readonly string[] }
  | { language: "jsonata-analysis"; expressions: readonly string[] }
  /** The data is the list of checks of validate-schema.ts. */
  | { language: "json-schema" }
  /** The data is the list of comparisons of compare.ts. */
  | { language: "comparisons" }
  /** Reads values of large data by their paths. The values are the `parts` of the result. */
  | ({ language: "select" } & Selection)
  /** The data is the body of a stored payload; the output is its JSON. */
  | { language: "payload"; payload: PayloadFormat }
  /** The data is the body of a webhook; the output is the `SandboxResult` of ingest/read-webhook.ts. */
  | { language: "webhook"; webhook: WebhookToRead }
  /** The data is the body of a callback; see ingest/callback/read-large-callback.ts. */
  | { language: "callback" }
  /** The data is the body of the event's payload. Each expression is the JSON of a `MatchRequest`. */
  | {
      language: "match";
      expressions: readonly string[];
      payload: PayloadFormat;
      event: Omit<MatchEvent, "data">;
    }
  /** The data is a payload; the output is a `PayloadPart`, or null if the path has no value. */
  | ({ language: "payload-part" } & PartRequest)
  /** The data is a payload; the output is true if the payload fulfils the conditions. */
  | ({ language: "payload-match" } & PayloadConditions);

/** The fields of an event that determine how the body of its payload is decoded. */
export interface PayloadFormat {
  source: string;
  content_type: string;
  headers: Record<string, string>;
}

/** A webhook without its body. If `isSigned` is true, the hub has verified its signature. */
export interface WebhookToRead {
  source: string;
  contentType: string;
  headers: Record<string, readonly string[]>;
  config: Record<string, unknown>;
  isSigned: boolean;
  now: number;
  maxValues: number;
}

interface Limits {
  /** Limits the evaluation itself; time in the queue does not count. */
  timeoutMs: number;
}

/** If the data is bytes, they are JSON in UTF-8, or the body of a payload, webhook or callback. */
export type Evaluation = Program & Limits & { data: MixedJson | Uint8Array };

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

export interface EvaluationCaller {
  /** Evaluations are queued per tenant, and each tenant gets the same time of the workers. */
  tenant: string;
  /** The queues of a tenant that get the same time, such as an app and its flow; the outermost first. */
  lane?: readonly string[] | undefined;
  signal: AbortSignal;
  /**
   * The maximum time in the queue. An evaluation that has not started by then is rejected as busy. If
   * too many bytes are queued, it is rejected immediately. Requests set this limit, because their number
   * is not limited. Runs do not set it, and wait.
   */
  maxWaitMs?: number | undefined;
  /**
   * Called when the evaluation is queued. The returned function is called when the evaluation starts, or
   * when its result arrives if it was part of a batch.
   */
  onQueued?: () => () => void;
}

/** Rejects when the signal is aborted, the evaluator has been closed, or it is busy: see `maxWaitMs`. */
export type Evaluate = (
  evaluation: Evaluation,
  caller: EvaluationCaller,
) => Promise<EvaluationResult>;

/** An evaluation as it is sent to a worker. Data and output are JSON text, so no object is shared. */
export type SerializedEvaluation = Program & Limits & { data: string | Uint8Array };
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
