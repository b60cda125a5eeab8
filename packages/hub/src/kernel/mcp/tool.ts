/** A tool of the server `/mcp`: its description, schemas and handler. */
import type { CallToolResult, ToolAnnotations } from "@modelcontextprotocol/server";
import type { z } from "zod";
import type { Access } from "../access/authorizer.ts";
import type { Scope } from "../access/scopes.ts";
import type { ReserveBytes } from "../http/byte-budgets.ts";
import { assertLengths } from "../lib/assert-lengths.ts";
import { type ListedSchema, listedInput, listedOutput } from "./listed-schema.ts";
import { argumentError } from "./sdk-errors.ts";

export interface ToolContext {
  access: Access;
  /** Must be called before payloads are read for the response. */
  reserveBytes: ReserveBytes;
  /** Aborted when the client disconnects or cancels. */
  signal: AbortSignal;
  /** Sends a progress notification if the client has sent a progress token. */
  progress(done: number, total: number, message: string): void;
}

export interface ToolResult {
  /** The text content, which existing clients parse as JSON. */
  text: unknown;
  /** `text` as JSON, if it is already serialized. */
  json?: string;
  /**
   * Sentences with what `text` lacks of `structured`, because many clients show only text to their
   * model.
   */
  note?: string | undefined;
  /** The structured content, which matches the output schema. */
  structured: Record<string, unknown>;
}

/** Clients get the data twice: some show only the text to their model, others only the structured content. */
export function toCallToolResult({
  text,
  json = JSON.stringify(text),
  note,
  structured,
}: ToolResult): CallToolResult {
  const blocks = note === undefined ? [json] : [json, note];
  return {
    content: blocks.map((block) => ({ type: "text", text: block })),
    structuredContent: structured,
  };
}

interface Hints {
  readOnly?: boolean;
  idempotent?: boolean;
  /** True if the tool deletes something. */
  destructive?: boolean;
  /** True if the tool may affect systems other than the hub. */
  openWorld?: boolean;
}

interface ToolDefinition<Input extends z.ZodObject, Output extends z.ZodObject> extends Hints {
  name: string;
  title: string;
  description: string;
  scope: Scope;
  input: Input;
  output: Output;
  run(args: z.infer<Input>, context: ToolContext): Promise<ToolResult>;
}

export interface Tool {
  name: string;
  scope: Scope;
  /** The tool as `tools/list` returns it. */
  listed: {
    name: string;
    title: string;
    description: string;
    inputSchema: ListedSchema;
    outputSchema: ListedSchema;
    annotations: ToolAnnotations;
  };
  /** Throws a `RequestError` if the arguments are invalid. */
  call(args: unknown, context: ToolContext): Promise<ToolResult>;
}

/** Leaves out the hints that have their default of the specification, or no meaning for a tool that only reads. */
const annotationsOf = ({
  readOnly = false,
  idempotent = false,
  destructive = false,
  openWorld = false,
}: Hints): ToolAnnotations => ({
  ...(readOnly
    ? { readOnlyHint: true }
    : { destructiveHint: destructive, ...(idempotent && { idempotentHint: true }) }),
  ...(!openWorld && { openWorldHint: false }),
});

/** Defines a tool. The schemas are converted to JSON Schema here, once instead of for every request. */
export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject>(
  definition: ToolDefinition<Input, Output>,
): Tool {
  const { name, title, description, scope, output } = definition;
  // If a misspelled filter were ignored, the caller would get more results than it asked for.
  const input = definition.input.strict();
  return {
    name,
    scope,
    listed: {
      name,
      title,
      description,
      inputSchema: listedInput(input),
      outputSchema: listedOutput(output),
      annotations: annotationsOf(definition),
    },
    async call(args, context) {
      assertLengths(input, args);
      const parsed = input.safeParse(args ?? {});
      if (!parsed.success) throw argumentError(parsed.error, name, Object.keys(input.shape));
      return definition.run(parsed.data as z.infer<Input>, context);
    },
  };
}
