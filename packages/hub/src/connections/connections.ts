/** The interface through which the hub calls MCP servers. */
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import type { Connection, Offers } from "./model.ts";

export interface ToolCall {
  tool: string;
  arguments: JsonObject;
}

export interface CallOptions {
  signal: AbortSignal;
  /** The time limit of the whole call. */
  timeoutMs: number;
  /** Called right before the call is sent. If it throws, the call is not sent. */
  beforeSend?: (() => void) | undefined;
  /** Sent as `_meta["signalbox/idempotency-key"]`. */
  idempotencyKey?: string | undefined;
  onProgress?:
    | ((progress: { progress: number; total?: number; message?: string }) => void)
    | undefined;
}

/** The result of a tool call. Credentials that the server has echoed are masked. */
export interface ToolAnswer {
  isError: boolean;
  content: readonly JsonObject[];
  structuredContent?: JsonObject | undefined;
}

/**
 * `callTool`, `loadOffers` and `request` open the connection if necessary, limit its concurrency, and
 * reject with a `ConnectionError`.
 */
export interface Connections {
  callTool(connection: Connection, call: ToolCall, options: CallOptions): Promise<ToolAnswer>;
  /** Requests the tools and triggers that the server offers now. */
  loadOffers(
    connection: Connection,
    options: Pick<CallOptions, "signal" | "timeoutMs">,
  ): Promise<Offers>;
  /** Sends a request with any other method, such as `events/poll` of the MCP Events draft. */
  request(
    connection: Connection,
    method: string,
    params: JsonObject,
    options: Pick<CallOptions, "signal" | "timeoutMs">,
  ): Promise<Json>;
  /** Closes the client of a connection, for example because its credentials have changed. */
  disconnect(id: string): void;
  close(): Promise<void>;
}
