/** The names under which a model sees the tools of connections: `connection__tool`, unique and short. */
import { Permanent } from "../errors.ts";
import type { ConnectionTool } from "../node-type.ts";
import { MAX_NAME_LENGTH, uniqueName } from "../tool-name.ts";
import type { ModelTool } from "./model.ts";

/** A tool as the model sees it, and what it stands for. */
export interface AgentTool extends ModelTool {
  /** Undefined for a tool of the hub's inbox. */
  connection?: string;
  /** The name on its server. */
  tool: string;
}

/** The limit of OpenAI; models choose badly among more tools. */
const MAX_TOOLS = 128;
const MAX_DESCRIPTION = 4_000;
/** Tools with which the hub subscribes to events. They are offered only by name. */
const RESERVED = new Set(["TRIGGER_LIST", "TRIGGER_CONFIGURE"]);

export interface ToolSource {
  /** Undefined for the hub's inbox. */
  connection?: string;
  tools: readonly ConnectionTool[];
  /** Only these tools; if omitted, all. */
  names?: readonly string[] | undefined;
}

export function agentTools(sources: readonly ToolSource[]): AgentTool[] {
  const taken = new Set<string>();
  const offered = sources.flatMap(({ connection, tools, names }) =>
    chosen(connection, tools, names).map(({ name, description, inputSchema }): AgentTool => {
      const modelName = uniqueName(joinNames(connection ?? "inbox", name), (one) => taken.has(one));
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

function chosen(
  connection: string | undefined,
  tools: readonly ConnectionTool[],
  names: readonly string[] | undefined,
): readonly ConnectionTool[] {
  if (names === undefined) return tools.filter(({ name }) => !RESERVED.has(name));
  return [...new Set(names)].map((name) => {
    const found = tools.find((tool) => tool.name === name);
    if (found) return found;
    const known = tools.map((tool) => tool.name).slice(0, 20);
    throw new Permanent(
      `tools: the connection ${connection} has no tool ${name}${known.length > 0 ? `; it has ${known.join(", ")}` : ""}.`,
      { code: "unknown_tool" },
    );
  });
}

/** If both do not fit, the connection's id is shortened first. */
function joinNames(connection: string, tool: string): string {
  const safe = (name: string) => name.replaceAll(/[^A-Za-z0-9_-]/g, "_");
  const room = Math.max(8, MAX_NAME_LENGTH - 2 - tool.length);
  return `${safe(connection).slice(0, room)}__${safe(tool)}`.slice(0, MAX_NAME_LENGTH);
}
