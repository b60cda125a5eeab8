/**
 * The errors of node types. `Permanent` and `RetryAt` override the retry settings of the node; any
 * other error follows them.
 */
import type { Json, JsonObject } from "../json.ts";

/** The output of a failed step or iteration, if the run continues. */
export const errorOutput = ({
  code,
  message,
  details,
}: {
  code: string;
  message: string;
  details?: Json;
}): { error: JsonObject } => ({
  error: { code, message, ...(details === undefined ? {} : { details }) },
});

interface NodeErrorOptions {
  /** Stable, unlike the message. */
  code?: string;
  /** Recorded with the step, and shown to people. */
  details?: Json;
  cause?: unknown;
}

/** An error with a code and details, which follows the retry settings. */
export class NodeError extends Error {
  readonly code: string;
  readonly details: Json;

  constructor(message: string, { code = "failed", details = null, cause }: NodeErrorOptions = {}) {
    super(message, { cause });
    this.code = code;
    this.details = details;
  }
}

/** The step fails without further attempts, because a retry cannot succeed. */
export class Permanent extends NodeError {
  override readonly name = "Permanent";

  constructor(message: string, { code = "permanent", ...more }: NodeErrorOptions = {}) {
    super(message, { code, ...more });
  }
}

/** Sets the time of the next attempt, instead of the backoff. The failed attempt counts. */
export class RetryAt extends NodeError {
  override readonly name = "RetryAt";
  /** Milliseconds since 1970. */
  readonly at: number;

  constructor(at: number, message: string, { code = "retry_at", ...more }: NodeErrorOptions = {}) {
    super(message, { code, ...more });
    this.at = at;
  }
}
