/** An open client of one MCP server. The interface hides the MCP SDK. */
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { ToolAnswer, ToolCall } from "./connections.ts";
import type { Exchange } from "./exchange.ts";

interface ToolCallOptions {
  meta?: JsonObject | undefined;
  onProgress?:
    | ((progress: { progress: number; total?: number; message?: string }) => void)
    | undefined;
}

export interface McpClient {
  server: { name: string; version: string } | null;
  /** The capabilities that the server declares. `events`: it implements the MCP Events draft. */
  capabilities: { tools: boolean; listChanged: boolean; events: boolean };
  callTool(call: ToolCall, exchange: Exchange, options?: ToolCallOptions): Promise<ToolAnswer>;
  /** Sends any request. The result is not validated. */
  request(method: string, params: JsonObject, exchange: Exchange): Promise<unknown>;
  /** Whether a call failed only because the server has lost the session of this client. */
  isSessionLost(error: unknown): boolean;
  /** The listener is called once, if the server closes the connection, such as when a command exits. */
  onClosed(listener: () => void): void;
  close(): Promise<void>;
}
