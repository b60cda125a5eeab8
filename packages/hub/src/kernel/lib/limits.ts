/**
 * The limits of API and MCP requests, which are checked before any schema validates a value, and of
 * the errors in responses. docs/limits.md lists them for operators and clients.
 */

const KIB = 1024;
const MIB = 1024 * KIB;

/** The limits that an operator can raise. */
export interface BodyLimits {
  /** The bytes of a JSON body of `/api` and `/mcp`. */
  bodyBytes: number;
  /** The bytes of a JSON body that contains whole flows. */
  importBytes: number;
  /** The number of values in a JSON body: numbers, strings, arrays, objects and so on. */
  values: number;
  /** The number of values in a JSON body that contains whole flows. */
  importValues: number;
  /** The number of values in the body of a large webhook, which a job parses. */
  webhookValues: number;
}

export const DEFAULT_BODY_LIMITS: BodyLimits = {
  bodyBytes: MIB,
  importBytes: 8 * MIB,
  values: 50_000,
  importValues: 100_000,
  webhookValues: 2_000_000,
};

/** The bytes of a request that opens a session or stream of MCP. */
export const MAX_OPENING_BYTES = 64 * KIB;
/** The number of values in a request that opens a session or stream, and in any `_meta` of MCP. */
export const MAX_OPENING_VALUES = 500;
/** The number of messages in a JSON-RPC batch. */
export const MAX_BATCH_MESSAGES = 20;
/** When the responses to a batch exceed this size, the remaining requests of the batch are rejected. */
export const MAX_BATCH_RESPONSE_BYTES = MIB;
/** The bytes of a request that marks an event as processed. */
export const MAX_MARKING_BYTES = 64 * KIB;
/** Larger JSON is not parsed in the thread that serves requests, but in a job. */
export { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
/** The number of items in an array whose schema sets no limit. */
export const MAX_ITEMS = 1_000;
/** The number of problems that an error lists. Its message has the number of the others. */
export const MAX_PROBLEMS = 20;
/** A response lists up to this many errors and up to this many warnings of a flow. */
export const MAX_FINDINGS = 100;
/** The path and the message of a reported problem are each truncated to this many characters. */
export const MAX_PROBLEM_LENGTH = 1_000;
/**
 * Many clients read the response only after sending the body, so the hub reads and discards up to this
 * many bytes of a rejected body.
 */
export const MAX_DISCARDED_BYTES = 64 * MIB;
export { MAX_TOKEN_LENGTH } from "@signalbox/rules/client-settings.ts";
/** The number of characters in a `Host` header: a DNS name has at most 253, a port 5. */
export const MAX_HOST_LENGTH = 260;
/** Limits what the client of a WebSocket may send. */
export const SOCKET_LIMITS = {
  /** A larger message closes the connection with code 1009. */
  messageBytes: 4 * KIB,
  /** Exceeding `frames` or `bytes` closes the connection with code 1008. */
  frames: { perSecond: 20, burst: 100 },
  bytes: { perSecond: 16 * KIB, burst: 64 * KIB },
} as const;
