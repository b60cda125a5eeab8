/**
 * The two words that the author of a node must know. Anything else that is thrown follows the
 * node's retry settings.
 */
import type { Json, JsonObject } from "../json.ts";

/** What stands in place of a result where something has failed, and all goes on. */
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
  /** Stable, to compare by. */
  code?: string;
  /** Recorded with the step, and shown to people. */
  details?: Json;
  cause?: unknown;
}

/** As any other error, but with details. */
export class NodeError extends Error {
  readonly code: string;
  readonly details: Json;

  constructor(message: string, { code = "failed", details = null, cause }: NodeErrorOptions = {}) {
    super(message, { cause });
    this.code = code;
    this.details = details;
  }
}

/** Trying again cannot help: the step fails at once. */
export class Permanent extends NodeError {
  override readonly name = "Permanent";

  constructor(message: string, { code = "permanent", ...more }: NodeErrorOptions = {}) {
    super(message, { code, ...more });
  }
}

/** Try again then, not earlier, however the backoff is set; it counts as an attempt. */
export class RetryAt extends NodeError {
  override readonly name = "RetryAt";
  /** Milliseconds since 1970. */
  readonly at: number;

  constructor(at: number, message: string, { code = "retry_at", ...more }: NodeErrorOptions = {}) {
    super(message, { code, ...more });
    this.at = at;
  }
}
