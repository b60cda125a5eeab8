import { isJSONRPCResponse, type JSONRPCMessage } from "@modelcontextprotocol/client";
import { isDeeperThan } from "@signalbox/rules/flows/model.ts";
import { OVER_LIMIT } from "./answer-codes.ts";
import { MAX_DEPTH } from "./limits.ts";

/**
 * Replaces an answer that is nested too deeply by an error, and drops other such messages. Recursive
 * functions rely on this limit.
 */
export function limitNesting(message: JSONRPCMessage): JSONRPCMessage | undefined {
  if (!isDeeperThan(MAX_DEPTH, message)) return message;
  if (!isJSONRPCResponse(message) || message.id === undefined) return undefined;
  const text = `The server's answer is nested deeper than ${MAX_DEPTH} levels, which is the limit.`;
  return { jsonrpc: "2.0", id: message.id, error: { code: OVER_LIMIT, message: text } };
}
