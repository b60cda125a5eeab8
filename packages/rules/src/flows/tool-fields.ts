/** The config fields of every trigger type that is a tool. */
import type { FlowNode } from "./model.ts";
import { textSchema } from "./text-schema.ts";

export const toolFields = {
  // Accepts more than `checkToolName`, so that tools of earlier versions keep their names.
  toolName: textSchema("must be the tool's name")
    .regex(/^[A-Za-z0-9_.-]{1,128}$/, "must be 1 to 128 letters, digits, _, . or -")
    .describe("The tool's name; if omitted, it is derived from the node's name."),
  toolDescription: textSchema("must describe what the tool does")
    .max(4000)
    .regex(/\S/, "must not be empty: agents choose a tool by its description")
    .describe("What the tool does. Agents choose a tool by its description."),
};

type WithParameters = Pick<FlowNode, "parameters">;

export const toolNameOf = ({ parameters: { toolName } }: WithParameters): string | undefined =>
  typeof toolName === "string" && toolName ? toolName : undefined;

export const toolDescriptionOf = ({ parameters: { toolDescription } }: WithParameters): string =>
  typeof toolDescription === "string" ? toolDescription : "";

export const withToolName = (node: FlowNode, toolName: string): FlowNode =>
  node.parameters.toolName === toolName
    ? node
    : { ...node, parameters: { ...node.parameters, toolName } };
