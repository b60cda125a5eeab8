const MIB = 1024 * 1024;

export const MAX_TOOLS = 1_000;
export const MAX_TRIGGERS = 1_000;
/** The total size of a server's lists of tools, or of triggers. */
export const MAX_LIST_BYTES = 4 * MIB;
export const MAX_ANSWER_BYTES = 8 * MIB;
/** The JSON values of an answer: they are parsed in the thread that serves requests. */
export const MAX_ANSWER_VALUES = 100_000;
/** Responses that no call waits for: the handshake, and streams of notifications. */
export const MAX_OTHER_BYTES = MIB;
/** The nesting of each message, as for the responses of HTTP requests and of code. */
export const MAX_DEPTH = 200;

/** The time limit of the connection and the handshake. */
export const OPEN_MS = 10_000;
/** After this time without calls, a client is closed. */
export const IDLE_MS = 60_000;
/** The same for clients that only checked their server. Thousands of connections may be checked. */
export const CHECKED_IDLE_MS = 1_000;
/** The time limit for telling a server that its session ends. */
export const CLOSE_MS = 2_000;
/** The delay after the first failure to open a connection, and the longest. */
export const RETRY_FIRST_MS = 250;
export const RETRY_MAX_MS = 5_000;

/** How many calls of one connection run concurrently, and how many more may wait. */
export const MAX_CALLS = 8;
export const MAX_QUEUED = 256;
