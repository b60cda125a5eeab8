/** Names the tools of connections for a model: `connection__tool`, unique and not too long. */
import { Permanent } from "../errors.ts";
import type { ConnectionTool } from "../node-type.ts";
import { MAX_NAME_LENGTH, uniqueName } from "../tool-name.ts";
import type { ModelTool } from "./model.ts";

/** A tool as the model sees it, with the tool of a connection or of the inbox that it calls. */
export interface AgentTool extends ModelTool {
  /** Undefined for a tool of the hub's inbox. */
  connection?: string;
  /** The name of the tool on its server. */
  tool: string;
}

/** OpenAI accepts no more tools, and models choose badly among many. */
const MAX_TOOLS = 128;
const MAX_DESCRIPTION = 4_000;
/** Tools with which the hub subscribes to events. An agent gets them only if its config names them. */
const SUBSCRIPTION_TOOLS = new Set(["TRIGGER_LIST", "TRIGGER_CONFIGURE"]);

export interface ToolSource {
  /** Undefined for the hub's inbox. */
  connection?: string;
  tools: readonly ConnectionTool[];
  /** The names of the tools to offer; if omitted, all except `SUBSCRIPTION_TOOLS`. */
  names?: readonly string[] | undefined;
}

export function agentTools(sources: readonly ToolSource[]): AgentTool[] {
  const taken = new Set<string>();
  const offered = sources.flatMap(({ connection, tools, names }) =>
    selectTools(connection, tools, names).map(({ name, description, inputSchema }): AgentTool => {
      const joined = joinNames(connection ?? "inbox", name);
      const modelName = uniqueName(joined, (candidate) => taken.has(candidate));
      taken.add(modelName);
      return {
        name: modelName,
        description: description.slice(0, MAX_DESCRIPTION),
        inputSchema,
        ...(connection !== undefined && { connection }),
        tool: name,
      };
    }),
  );
  if (offered.length > MAX_TOOLS)
    throw new Permanent(
      `tools: an agent can use at most ${MAX_TOOLS} tools, but these connections offer ${offered.length}. Name the tools in tools[].tools.`,
      { code: "agent_too_many_tools" },
    );
  return offered;
}

function selectTools(
  connection: string | undefined,
  tools: readonly ConnectionTool[],
  names: readonly string[] | undefined,
): readonly ConnectionTool[] {
  if (names === undefined) return tools.filter(({ name }) => !SUBSCRIPTION_TOOLS.has(name));
  return [...new Set(names)].map((name) => {
    const tool = tools.find((tool) => tool.name === name);
    if (tool) return tool;
    const existing = tools.map((tool) => tool.name).slice(0, 20);
    throw new Permanent(
      `tools: the connection ${connection} has no tool ${name}${existing.length > 0 ? `; it has ${existing.join(", ")}` : ""}.`,
      { code: "unknown_tool" },
    );
  });
}

/** If the name is too long, the connection's id is shortened first, to at least 8 characters. */
function joinNames(connection: string, tool: string): string {
  const sanitize = (name: string) => name.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  const idLength = Math.max(8, MAX_NAME_LENGTH - 2 - tool.length);
  return `${sanitize(connection).slice(0, idLength)}__${sanitize(tool)}`.slice(0, MAX_NAME_LENGTH);
}
