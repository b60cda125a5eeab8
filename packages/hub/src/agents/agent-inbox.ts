/** The inbox tools for `Agent` nodes. They read and change only events of the run's tenant. */
import type { JsonObject } from "@signalbox/rules/json.ts";
import type { InboxTools } from "../flows/runs/node-services.ts";
import type { Access } from "../kernel/access/authorizer.ts";
import { messageWithField, RequestError } from "../kernel/lib/request-error.ts";
import { unexpectedError } from "../kernel/mcp/sdk-errors.ts";
import type { Tool } from "../kernel/mcp/tool.ts";

export interface AgentInboxOptions {
  /** The tools of the inbox. */
  tools: readonly Tool[];
  onError: (error: unknown) => void;
}

/**
 * The tools that an `Agent` node does not get, because they wait, return many payloads, or start
 * runs.
 */
const OMITTED = new Set(["wait_for_event", "get_webhook_events", "replay_event"]);

/**
 * The default `max_bytes` of `get_event`. The agent truncates longer results, so they would be
 * invalid JSON.
 */
const MAX_PAYLOAD_BYTES = 20_000;

export function createAgentInbox({ tools: all, onError }: AgentInboxOptions): InboxTools {
  const tools = new Map(
    all.filter(({ name }) => !OMITTED.has(name)).map((tool) => [tool.name, tool]),
  );
  const failure = (text: string) => ({ isError: true, content: [], structured: null, text });
  return {
    listTools: async () =>
      [...tools.values()].map(({ listed: { name, title, description, inputSchema } }) => ({
        name,
        title,
        description,
        inputSchema: inputSchema as JsonObject,
      })),
    async callTool({ id, tenant }, call, signal) {
      const tool = tools.get(call.tool);
      if (!tool) return failure(`There is no tool ${call.tool}.`);
      const access: Access = {
        token: `run:${id}`,
        name: "agent",
        scopes: ["inbox:read", "inbox:write"],
        tenants: [tenant],
      };
      const args =
        tool.name === "get_event"
          ? { max_bytes: MAX_PAYLOAD_BYTES, ...call.arguments }
          : call.arguments;
      try {
        const {
          text,
          json = JSON.stringify(text),
          note,
        } = await tool.call(args, {
          access,
          // The response is small, because it is truncated for the model.
          reserveBytes: async () => {},
          signal,
          progress: () => {},
        });
        const resultText = note === undefined ? json : `${json}\n${note}`;
        return {
          isError: false,
          content: [{ type: "text", text: resultText }],
          structured: null,
          text: resultText,
        };
      } catch (error) {
        if (error instanceof RequestError) return failure(messageWithField(error));
        return failure(unexpectedError(error, onError));
      }
    },
  };
}
