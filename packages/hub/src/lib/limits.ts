/**
 * The limits of API and MCP requests, which are checked before any schema reads a value, and of the
 * errors in responses. docs/limits.md lists them for operators and clients.
 */
const KIB = 1024;
const MIB = 1024 * KIB;

/** The limits that an operator can raise. */
export interface BodyLimits {
  /** The bytes of a JSON body of `/api` and `/mcp`. */
  bodyBytes: number;
  /** The bytes of a JSON body that has whole flows. */
  importBytes: number;
  /** The number of values in a JSON body: numbers, strings, arrays, objects and so on. */
  values: number;
  /** The number of values in a JSON body that has whole flows. */
  importValues: number;
  /** The number of values in a large body of a webhook. The sandbox parses it. */
  webhookValues: number;
}

export const DEFAULT_BODY_LIMITS: BodyLimits = {
  bodyBytes: MIB,
  importBytes: 8 * MIB,
  values: 50_000,
  importValues: 100_000,
  webhookValues: 2_000_000,
};

/** The bytes of a request that opens a session or a stream of MCP. */
export const MAX_OPENING_BYTES = 64 * KIB;
/** The number of values in such a request, and in the `_meta` of any MCP message. */
export const MAX_OPENING_VALUES = 500;
/** The messages of a JSON-RPC batch. */
export const MAX_BATCH_MESSAGES = 20;
/** The bytes of the responses of a batch, after which its remaining requests are rejected. */
export const MAX_BATCH_RESPONSE_BYTES = MIB;
/** The bytes of a request that marks an event as processed. */
export const MAX_MARKING_BYTES = 64 * KIB;
/** Larger JSON is not parsed in the thread that serves requests, but in the sandbox. */
export { LARGE_BYTES } from "@signalbox/rules/large-json.ts";
/**
 * The levels of nesting of a JSON body of `/api` and `/mcp`. Webhooks (ingest/decode.ts) and responses of
 * servers (connections/limits.ts) have their own, higher limits.
 */
export const MAX_DEPTH = 100;
/** The items of an array, if its schema has no limit. */
export const MAX_ITEMS = 1_000;
/** The members of an object with arbitrary keys. */
export const MAX_MEMBERS = 10_000;
/** The maximum number of problems in an error; the message gives the number of the others. */
export const MAX_PROBLEMS = 20;
/** The errors, and also the warnings, of a flow in a response: this many each. */
export const MAX_FINDINGS = 100;
/** The characters of the path, and also of the message, of a reported problem: this many each. */
export const MAX_PROBLEM_LENGTH = 1_000;
/**
 * Many clients read the response only after sending the body, so the hub reads and discards up to this
 * many bytes of a rejected body.
 */
export const MAX_DISCARDED_BYTES = 64 * MIB;
/** The characters of a bearer token. The hub's own tokens have fewer than 60. */
export const MAX_TOKEN_LENGTH = 512;
/** The characters of a `Host` header: a DNS name has at most 253, a port 5. */
export const MAX_HOST_LENGTH = 260;
/** What a client of a WebSocket may send. */
export const SOCKET_LIMITS = {
  /** Above it, the connection is closed with 1009. */
  messageBytes: 4 * KIB,
  /** Above one of these, the connection is closed with 1008. */
  frames: { perSecond: 20, burst: 100 },
  bytes: { perSecond: 16 * KIB, burst: 64 * KIB },
} as const;
