/** A tool of the hub's own MCP server, as data: what a client is told, and what it does. */
import { z } from "zod";
import type { Inbox } from "../inbox/inbox.ts";
import type { ReserveBytes } from "../inbox/response-budget.ts";
import type { Triggers } from "../runs/explain.ts";
import type { Scope } from "../store/store.ts";
import type { Access } from "../tenants/authorizer.ts";
import { argumentError } from "./argument-error.ts";
import type { Waits } from "./wait-for-event.ts";

export interface ToolContext {
  inbox: Inbox;
  access: Access;
  waits: Waits;
  triggers: Triggers;
  /** To be asked before payloads are read for the answer. */
  reserveBytes: ReserveBytes;
  /** Aborted when the client no longer waits. */
  signal: AbortSignal;
  /** Tells a client that asked for it how far things are. */
  progress(done: number, total: number, message: string): void;
}

/** `text` is what clients of today's inboxes parse; `structured` the same as an object. */
interface ToolResult {
  text: unknown;
  /** The text itself, where it is spelled already. */
  json?: string;
  structured: Record<string, unknown>;
}

interface ToolRecipe<Input extends z.ZodObject, Output extends z.ZodObject> {
  name: string;
  title: string;
  description: string;
  scope: Scope;
  input: Input;
  output: Output;
  readOnly?: boolean;
  idempotent?: boolean;
  /** What it does may reach others than the hub. */
  openWorld?: boolean;
  run(args: z.infer<Input>, context: ToolContext): Promise<ToolResult>;
}

export interface Tool {
  name: string;
  scope: Scope;
  /** As `tools/list` shows it. */
  listed: {
    name: string;
    title: string;
    description: string;
    inputSchema: { type: "object"; [key: string]: unknown };
    outputSchema: { type: "object"; [key: string]: unknown };
    annotations: {
      readOnlyHint: boolean;
      idempotentHint: boolean;
      destructiveHint: boolean;
      openWorldHint: boolean;
    };
  };
  /** Checks the arguments first; a `RequestError` says what is wrong with them. */
  call(args: unknown, context: ToolContext): Promise<ToolResult>;
}

const schemaOf = (schema: z.ZodObject, io: "input" | "output") =>
  z.toJSONSchema(schema, { io, unrepresentable: "any" }) as { type: "object" };

/** Inert: the schemas are made once, not for every request. */
export function defineTool<Input extends z.ZodObject, Output extends z.ZodObject>(
  recipe: ToolRecipe<Input, Output>,
): Tool {
  const { name, title, description, scope, output, readOnly = false } = recipe;
  // An argument that is dropped without a word leaves the caller with more than it asked for.
  const input = recipe.input.strict();
  return {
    name,
    scope,
    listed: {
      name,
      title,
      description,
      inputSchema: schemaOf(input, "input"),
      outputSchema: schemaOf(output, "output"),
      annotations: {
        readOnlyHint: readOnly,
        idempotentHint: recipe.idempotent ?? readOnly,
        destructiveHint: false,
        openWorldHint: recipe.openWorld ?? false,
      },
    },
    async call(args, context) {
      const parsed = input.safeParse(args ?? {});
      if (!parsed.success) throw argumentError(parsed.error, name, Object.keys(input.shape));
      return recipe.run(parsed.data as z.infer<Input>, context);
    },
  };
}
