/** The codes of the JSON-RPC errors with which the hub replaces a missing or invalid answer. */

/** The response ended without an answer. */
export const NO_ANSWER = -32_098;
/** The answer exceeds a limit of size or nesting. */
export const OVER_LIMIT = -32_097;
