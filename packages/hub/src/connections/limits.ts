const MIB = 1024 * 1024;

export const MAX_TOOLS = 1_000;
export const MAX_TRIGGERS = 1_000;
/** The size of one list of a server, with all its pages: its tools, its triggers or its event types. */
export const MAX_LIST_BYTES = 4 * MIB;
export const MAX_ANSWER_BYTES = 8 * MIB;
/** The number of JSON values in an answer. It is limited because parsing them blocks the main thread. */
export const MAX_ANSWER_VALUES = 100_000;
/** The size of responses that do not belong to a call, such as those of the handshake. */
export const MAX_OTHER_BYTES = MIB;
/** The nesting of each message. The responses of `HttpRequest` nodes have the same limit. */
export const MAX_DEPTH = 200;

/** The time limit of the connection and the handshake. */
export const OPEN_MS = 10_000;
/** After this time without calls, a client is closed. */
export const IDLE_MS = 60_000;
/** The same for clients that were only used for checks: thousands of connections may be checked. */
export const CHECKED_IDLE_MS = 1_000;
/** The time limit of the request that ends the session at the server. */
export const CLOSE_MS = 2_000;
/** The first and the longest delay after failures to open a connection. */
export const RETRY_FIRST_MS = 250;
export const RETRY_MAX_MS = 5_000;

/** The number of calls of one connection that run concurrently, and the number that may wait. */
export const MAX_CALLS = 8;
export const MAX_QUEUED = 256;
