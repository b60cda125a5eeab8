/**
 * Node types as data. To add one: a file in nodes/ and a line in nodes/index.ts. Other code asks the
 * definition for what a type offers, and never compares type names. The suite nodes/nodes.test.ts
 * checks the schema and ports of every type, and runs its sample.
 */
import { z } from "zod";
import type { Json, JsonObject, JsonSchema } from "../json.ts";
import { type Path, parsePath } from "../match/path.ts";
import type { Concurrency } from "./concurrency.ts";
import { Permanent } from "./errors.ts";
import type { Evaluation, EvaluationResult, LogLine } from "./evaluation.ts";
import { issuesOf } from "./issues.ts";
import type { GuardedFetch } from "./outbound.ts";
import type { Parameter } from "./parameters.ts";
import type { Scope } from "./render.ts";

type NodeKind = "trigger" | "action" | "logic" | "data" | "result";

/** The port on which a run continues after a failed step. Triggers and results have none. */
export const ERROR_PORT = "error";

/** `parameters.settings` of every node, beside the config of its type. */
export const nodeSettings = z.strictObject({
  retries: z
    .strictObject({
      attempts: z.int().min(1).max(20).describe("How often to try, including the first attempt."),
      backoffMs: z
        .int()
        .min(0)
        .max(3_600_000)
        .default(1000)
        .describe(
          "The delay before the second attempt; it doubles with each attempt, up to an hour.",
        ),
    })
    .optional()
    .describe("Retries a failed step, unless its error is permanent."),
  timeoutMs: z
    .int()
    .min(1)
    .max(86_400_000)
    .optional()
    .describe(
      "The time limit of one attempt. The default is one minute, and none for a CallFlow. The time that code waits in the queue does not count.",
    ),
  continueOnError: z
    .boolean()
    .optional()
    .describe(
      "After a failure the run continues on the first port, with `{ error: { code, message } }`. On a loop, this is the result of a failed iteration.",
    ),
});
export type NodeSettings = z.output<typeof nodeSettings>;

/** An output that arrived on an edge. */
export interface NodeInput {
  /** The slug of the node that returned it. */
  slug: string;
  /** The input port of this node. */
  port: string;
  output: Json;
}

/** Everything that a node has access to. */
export interface NodeContext<Config> {
  /** With templates rendered, and valid by the schema. */
  config: Config;
  /** The output of the preceding node; of several nodes, an object by slug. For a trigger, its input. */
  input: Json;
  /** Without branches that the run did not take. */
  inputs: readonly NodeInput[];
  scope: Scope;
  run: { id: string; flowId: string; nodeId: string; slug: string; attempt: number };
  /** Aborted when the run is cancelled, or the attempt exceeds its time limit. */
  signal: AbortSignal;
  /** The same for every attempt of this step: send it with every request that has effects. */
  idempotencyKey: string;
  /** Set when the node is called again after a wait. */
  resumed?: Resumed;
  now(): number;
  /** Stored with the step, also if it fails. */
  log(line: LogLine): void;
  /** Rejects private addresses. */
  fetch: GuardedFetch;
  /** Runs a program of the flow's author in the sandbox. */
  evaluate(evaluation: Evaluation): Promise<EvaluationResult>;
  /** Stores an event, once for each `id` in this step, with the run as its cause. */
  emit(event: { type: string; data: JsonObject; id?: string }): Promise<{ id: string }>;
  /** Runs a flow from one of its triggers. A repeated step joins the run that it started before. */
  callFlow(call: { flow: string; trigger: string; input: JsonObject }): Promise<Json>;
  /** Calls a tool of a connection. Throws a result that the server marks as an error. */
  callTool(call: { connection: string; tool: string; arguments: JsonObject }): Promise<Json>;
  listTools(connection: string): Promise<ConnectionTool[]>;
}

interface ConnectionTool {
  name: string;
  description: string;
  inputSchema: JsonSchema;
}

/** Suspends the run. A suspended run occupies no slot, and survives a restart. */
export interface Wait {
  /** The time at which the node is called again; null if only an answer or event ends the wait. */
  until: number | null;
  /** An answer or an event that ends the wait earlier. */
  for?:
    | { kind: "answer"; prompt: string; data?: Json }
    | { kind: "event"; source: string; type?: string; params?: JsonObject; filter?: string };
  /** Returned in `resumed`. */
  state?: Json;
}

export interface Resumed {
  state: Json;
  /** The answer or the event; undefined if the time has passed. */
  answer?: Json;
}

/** The port of a loop that leads to its iterations. The first port continues after the last one. */
export const ITEM_PORT = "item";

/**
 * `port` may be omitted for the first one. `each` runs the nodes behind the port `item` once for each
 * item; the array of their results is the node's output.
 */
export type NodeResult =
  | { port?: string; output: Json }
  | { wait: Wait }
  | { each: { items: Json[]; atOnce: number } };

/** What a trigger offers that agents call as a tool. Its name is in the config: see tool-fields.ts. */
export interface ToolOffer {
  description: string;
  parameters: Parameter[];
  concurrency?: Concurrency | undefined;
}

/** Which events start a run at a trigger; match/match-trigger.ts evaluates it. */
export interface EventSelection {
  /** A kind of sender such as `github`, or the id of an endpoint or connection. */
  source: string;
  /** Omitted: events of any type. */
  type?: string;
  params?: JsonObject;
  filter?: string | undefined;
  concurrency?: Concurrency | undefined;
  gather?: { forMs: number; key?: string | undefined } | undefined;
}

/** Shown in the UI's picker, and run by the suite. */
interface NodeSample {
  config: JsonObject;
  input?: Json;
  inputs?: NodeInput[];
  /** Omitted if the node needs services: then it has its own tests. */
  result?: NodeResult;
  /** An invalid config, and the path that the error names. */
  rejects: { config: JsonObject; path: string };
}

interface CodeField {
  field: string;
  language: "javascript" | "jsonata";
}

interface NodeRecipe<Config extends z.ZodObject> {
  type: string;
  title: string;
  description: string;
  /** The name of a lucide icon. */
  icon: string;
  kind: NodeKind;
  /** The schema of `parameters` without `settings`. Strings may be templates; see `rawFields`. */
  config: Config;
  ports: {
    in: readonly string[];
    /** The first is the default. `error` is added, except for triggers and results. */
    out: readonly string[] | ((config: z.output<Config>) => readonly string[]);
  };
  /** Paths such as `headers[].value`; `{{ secrets.KEY }}` is allowed there and below. */
  secretFields?: readonly string[];
  /** The field with the URL that secrets are sent to. */
  sendsTo?: string;
  /** Paths to code in another language, which has no templates. */
  rawFields?: readonly string[];
  /** The field with a program of the author. */
  code?: CodeField;
  /** Has no default time limit, because what it waits for has its own. */
  hasOwnDeadline?: boolean;
  /** For a trigger that agents call as a tool; its config has `toolFields`. */
  tool?(config: z.output<Config>): ToolOffer;
  /** For a trigger that events start. */
  listensTo?(config: z.output<Config>): EventSelection;
  /** Whether it runs another flow: `flow` and `trigger` in its config name it. */
  callsFlow?: boolean;
  /** Names that templates may use in nodes that are reached through a port, such as `item`. */
  locals?: Readonly<Record<string, readonly string[]>>;
  /** The schema of its output, if the config determines it. */
  outputSchema?(config: z.output<Config>): JsonSchema | undefined;
  sample: NodeSample;
  /** By default, returns the input; used by triggers. */
  run(context: NodeContext<z.output<Config>>): NodeResult | Promise<NodeResult>;
}

export interface NodeDefinition
  extends Pick<NodeRecipe<z.ZodObject>, "type" | "title" | "description" | "icon" | "kind"> {
  config: z.ZodObject;
  inPorts: readonly string[];
  /** With `error`. Undefined if they depend on a config that is invalid. */
  outPorts(config: JsonObject): readonly string[] | undefined;
  secretFields: readonly Path[];
  sendsTo: string | undefined;
  rawFields: readonly Path[];
  code: CodeField | undefined;
  hasOwnDeadline: boolean;
  /** Whether agents call it as a tool. */
  isTool: boolean;
  /** Undefined if it is no tool, or its config is invalid. */
  tool(config: JsonObject): ToolOffer | undefined;
  /** Undefined if no event starts it, or its config is invalid. */
  listensTo(config: JsonObject): EventSelection | undefined;
  callsFlow: boolean;
  locals: Readonly<Record<string, readonly string[]>>;
  outputSchema(config: JsonObject): JsonSchema | undefined;
  sample: NodeSample;
  /** Validates the rendered config before it runs. */
  run(context: NodeContext<JsonObject>): Promise<NodeResult>;
}

export type NodeRegistry = ReadonlyMap<string, NodeDefinition>;

export const createRegistry = (definitions: readonly NodeDefinition[]): NodeRegistry =>
  new Map(definitions.map((definition) => [definition.type, definition]));

/** Returns inert data: it holds no resources. */
export function defineNode<Config extends z.ZodObject>(
  recipe: Omit<NodeRecipe<Config>, "run"> & Partial<Pick<NodeRecipe<Config>, "run">>,
): NodeDefinition {
  const { type, title, description, icon, kind, config, ports, sample } = recipe;
  if ("settings" in config.shape) throw new Error(`${type}: \`settings\` is a reserved field.`);
  const { run = (context) => ({ output: context.input }) } = recipe;
  const read = (parameters: JsonObject) => config.safeParse(parameters).data;
  const withError = (out: readonly string[]) =>
    kind === "trigger" || kind === "result" ? out : [...out, ERROR_PORT];

  return {
    type,
    title,
    description,
    icon,
    kind,
    config,
    sample,
    inPorts: ports.in,
    outPorts(parameters) {
      if (typeof ports.out !== "function") return withError(ports.out);
      const known = read(parameters);
      return known && withError(ports.out(known));
    },
    secretFields: (recipe.secretFields ?? []).map((path) => pathOf(type, path)),
    // No node runs before a trigger, so a template has nothing to refer to.
    rawFields:
      kind === "trigger" ? [[]] : (recipe.rawFields ?? []).map((path) => pathOf(type, path)),
    code: recipe.code,
    sendsTo: recipe.sendsTo,
    hasOwnDeadline: recipe.hasOwnDeadline ?? false,
    isTool: recipe.tool !== undefined,
    tool(parameters) {
      const known = recipe.tool && read(parameters);
      return known && recipe.tool?.(known);
    },
    listensTo(parameters) {
      const known = recipe.listensTo && read(parameters);
      return known && recipe.listensTo?.(known);
    },
    callsFlow: recipe.callsFlow ?? false,
    locals: recipe.locals ?? {},
    outputSchema(parameters) {
      const known = recipe.outputSchema && read(parameters);
      return known && recipe.outputSchema?.(known);
    },
    async run(context) {
      const parsed = config.safeParse(context.config);
      if (parsed.success) return run({ ...context, config: parsed.data });
      const issues = issuesOf(parsed.error);
      throw new Permanent(issues.map(({ path, message }) => `${path}: ${message}`).join("; "), {
        code: "invalid_config",
        details: issues.map(({ path, message }) => ({ path, message })),
      });
    },
  };
}

function pathOf(type: string, text: string): Path {
  const path = parsePath(text);
  if (!path) throw new Error(`${type}: ${text} is not a path.`);
  return path;
}
