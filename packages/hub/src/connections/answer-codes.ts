/** The codes of JSON-RPC errors by which the hub replaces the answer of a server. */

/** The response ended without an answer. */
export const NO_ANSWER = -32_098;
/** The answer exceeds a limit of size or nesting. */
export const OVER_LIMIT = -32_097;
