/** Calls of MCP servers through their connections. */
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import type { Connection, Offers } from "../store/connection-store.ts";

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

/** The result of a tool, as the server returned it. */
export interface ToolAnswer {
  isError: boolean;
  content: readonly JsonObject[];
  structuredContent?: JsonObject | undefined;
}

/**
 * Every method opens the connection if necessary, limits its concurrency, and rejects with a
 * `ConnectionError` whose message tells what to do.
 */
export interface Connections {
  callTool(connection: Connection, call: ToolCall, options: CallOptions): Promise<ToolAnswer>;
  /** Lists what the server offers now. */
  loadOffers(
    connection: Connection,
    options: Pick<CallOptions, "signal" | "timeoutMs">,
  ): Promise<Offers>;
  /** Sends any other request of the MCP Events draft, such as `events/poll`. */
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
