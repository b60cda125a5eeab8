/** An open client of one server. Everything that uses the MCP SDK is behind this interface. */
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
  /** What the server declares. `events` is the draft of MCP Events. */
  capabilities: { tools: boolean; listChanged: boolean; events: boolean };
  callTool(call: ToolCall, exchange: Exchange, options?: ToolCallOptions): Promise<ToolAnswer>;
  /** The result of any request, not validated. */
  request(method: string, params: JsonObject, exchange: Exchange): Promise<unknown>;
  /** Whether a call failed only because the server has lost the session of this client. */
  isSessionLost(error: unknown): boolean;
  /** Called once, if the connection closes by itself, such as when a command exits. */
  onClosed(listener: () => void): void;
  close(): Promise<void>;
}
