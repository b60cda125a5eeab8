/**
 * Definitions of node types. To add a type, add a file in nodes/ and a line in nodes/index.ts. Other
 * code reads the capabilities of a type from its definition, and never compares type names. The suite
 * nodes/nodes.test.ts checks the schema and ports of every type, and runs its sample.
 */
import { z } from "zod";
import type { Json, JsonObject, JsonSchema } from "../json.ts";
import type { LargeJson, MixedJson, MixedObject } from "../large-json.ts";
import { type Path, parsePath } from "../match/path.ts";
import type { ModelAnswer, ModelRequest } from "./agent/model.ts";
import type { Concurrency } from "./concurrency.ts";
import type { CronTimes } from "./cron.ts";
import { Permanent } from "./errors.ts";
import type { Evaluation, EvaluationResult, LogLine } from "./evaluation.ts";
import { issuesOf } from "./issues.ts";
import type { GuardedFetch } from "./outbound.ts";
import type { Parameter } from "./parameters.ts";
import type { Poll } from "./poll.ts";
import type { MisfirePolicy } from "./schedule.ts";
import type { Reference } from "./template.ts";

type NodeKind = "trigger" | "action" | "logic" | "data" | "result";

/** The port on which a run continues after a failed step. Triggers and results do not have it. */
export const ERROR_PORT = "error";

/** The schema of `parameters.settings`, which is the same for all types. */
export const nodeSettings = z.strictObject({
  retries: z
    .strictObject({
      attempts: z.int().min(1).max(20).describe("The number of attempts, including the first."),
      backoffMs: z
        .int()
        .min(0)
        .max(3_600_000)
        .default(1000)
        .describe(
          "The delay before the second attempt, in milliseconds. It doubles with each attempt, up to an hour.",
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
      "The time limit of one attempt, in milliseconds. The default is one minute; a CallFlow and an Agent have no default limit. The time that code waits in the queue does not count.",
    ),
  continueOnError: z
    .boolean()
    .optional()
    .describe(
      "After a failure, the run continues on the first port with the output `{ error: { code, message } }`. On a loop, this is the result of a failed iteration.",
    ),
});
export type NodeSettings = z.output<typeof nodeSettings>;

/** An output that reached the node on an edge. */
export interface NodeInput {
  /** The slug of the node that returned it. */
  slug: string;
  /** The input port of this node. */
  port: string;
  output: MixedJson;
}

/** The values that templates and code can use, except secrets. */
export interface Scope {
  trigger?: MixedJson;
  /** The outputs by slug. They have their own object, because a slug can have almost any name. */
  nodes: Readonly<Record<string, MixedJson>>;
  /** Set only inside a loop, like `index`. */
  item?: MixedJson;
  index?: MixedJson;
}

/** The data and services that a node can use. */
export interface NodeContext<Config> {
  /** The config of the node, rendered and validated. */
  config: Config;
  /**
   * The output of the preceding node, or an object of outputs by slug if there are several. The input
   * of the run if the node is a trigger.
   */
  input: MixedJson;
  /** The outputs of the branches that the run has taken. */
  inputs: readonly NodeInput[];
  scope: Scope;
  run: { id: string; flowId: string; nodeId: string; slug: string; attempt: number };
  /** Aborted when the run is cancelled, or the attempt exceeds its time limit. */
  signal: AbortSignal;
  /** The same for every attempt of this step: send it with every request that has effects. */
  idempotencyKey: string;
  /** Set if the node runs again after a wait. */
  resumed?: Resumed;
  now(): number;
  /** Adds a line to the log of the step, which is stored even if the step fails. */
  log(line: LogLine): void;
  /** Rejects private addresses. */
  fetch: GuardedFetch;
  /** Runs a program of the flow's author in the sandbox. */
  evaluate(evaluation: Evaluation): Promise<EvaluationResult>;
  /** Stores an event that the run caused. A repeated call in this step with the same `id` has no effect. */
  emit(event: {
    type: string;
    data: MixedObject | LargeJson;
    id?: string;
  }): Promise<{ id: string }>;
  /**
   * Runs a flow from one of its triggers, or from its only active tool. A repeated attempt waits for
   * the run that an earlier one started.
   */
  callFlow(call: {
    flow: string;
    trigger?: string | undefined;
    input: JsonObject;
  }): Promise<MixedJson>;
  /**
   * Calls a tool of a connection. The result is returned even if the server marks it as an error;
   * rejects if there is no result. A node that makes several calls gives each an `id`: the same for
   * every attempt at this call. Progress of the tool is added to the log of the step. `timeoutMs` is
   * for calls that must end before the step.
   */
  callTool(call: {
    connection: string;
    tool: string;
    arguments: JsonObject;
    id?: string;
    timeoutMs?: number;
  }): Promise<ToolResult>;
  /** The tools of a connection, as its server listed them last. */
  listTools(connection: string): Promise<ConnectionTool[]>;
  /**
   * Runs a part of this step, and records it with its own step record. A completed part is not
   * repeated: a later attempt at the node, in any process, gets the recorded output, and `work` is not
   * called. A part that failed or was interrupted is repeated. If an error must not lead to a
   * repetition, `work` must return it as a value. Secrets are masked in the returned output too.
   */
  record(part: string, input: Json, work: () => Promise<Json>): Promise<Json>;
  /** Requests one answer of a model. */
  model(request: ModelRequest, signal: AbortSignal): Promise<ModelAnswer>;
  /** The tools of the tenant's inbox. */
  inbox: {
    listTools(): Promise<ConnectionTool[]>;
    callTool(call: { tool: string; arguments: JsonObject }): Promise<ToolResult>;
  };
  /** Random characters, for fences around untrusted text. */
  newNonce(): string;
}

export interface ConnectionTool {
  name: string;
  title?: string;
  description: string;
  inputSchema: JsonSchema;
  outputSchema?: JsonSchema;
}

/** An event type that the server of a connection offers. */
export interface ConnectionTrigger {
  /** JSON Schema of the params. */
  inputSchema: JsonSchema;
  /** JSON Schemas by param. Each can have a boolean field `required`. */
  paramsSchema: JsonObject;
  payloadSchema?: JsonSchema;
  /** `any`: an omitted param matches every value. Otherwise, the server may assume its default. */
  omittedParams?: "any";
}

/** A tool that a node calls, or a connection whose tools it may call. `at` is the path in the config. */
export interface ToolUse {
  connection: string;
  at: readonly (string | number)[];
  tool?: { name: string; at: readonly (string | number)[] };
  /** Checked against the schema of the tool. */
  arguments?: { value: JsonObject; at: readonly (string | number)[] };
}

/** Schemas of the flow around a node, as far as they are known before the flow runs. */
export interface SchemaContext {
  /** The tool of `usesTools`, if it is the only one. */
  tool?: ConnectionTool | undefined;
  /** The schema of the node's input. */
  input?(): JsonSchema | undefined;
  /** The schema of the value of a reference to another node. */
  reference?(reference: Reference): JsonSchema | undefined;
}

export interface ToolResult {
  isError: boolean;
  content: JsonObject[];
  /** `structuredContent`; null if the tool returned none. */
  structured: JsonObject | null;
  /** The text blocks of `content`, joined by line breaks. */
  text: string;
}

/** Suspends the run. A suspended run occupies no slot, and survives a restart. */
export interface Wait {
  /** The time at which the node runs again. */
  until: number;
  /** Passed back to the node in `resumed`. */
  state?: Json;
}

export interface Resumed {
  state: Json;
}

/** The port of a loop that leads to the nodes of an iteration. */
export const ITEM_PORT = "item";

/**
 * `port` is the first output port by default. `each` runs the nodes after the port `item` once for
 * each item; the node's output is the array of their results.
 */
export type NodeResult =
  | { port?: string; output: MixedJson }
  | { wait: Wait }
  | { each: { items: Json[]; atOnce: number } };

/** A trigger as a tool. The tool's name is in the config: see tool-fields.ts. */
export interface ToolOffer {
  description: string;
  parameters: Parameter[];
  concurrency?: Concurrency | undefined;
}

/** The events for which a trigger fires: the conditions of match/match-trigger.ts, and its settings. */
export interface EventSelection {
  /** A kind of sender such as `github`, or the id of an endpoint or connection. */
  source: string;
  /** If omitted, events of any type. */
  type?: string;
  params?: JsonObject;
  filter?: string | undefined;
  concurrency?: Concurrency | undefined;
  gather?: { forMs: number; key?: string | undefined } | undefined;
  poll?: Poll | undefined;
}

/** The times at which a trigger fires, and its settings. */
export interface TriggerSchedule extends CronTimes {
  misfire: MisfirePolicy;
  concurrency?: Concurrency | undefined;
}

/** An example of a node. The UI's picker shows it, and nodes/nodes.test.ts runs it. */
interface NodeSample {
  config: JsonObject;
  input?: Json;
  inputs?: NodeInput[];
  /** Omitted if the node needs services; then the node has its own tests. */
  result?: NodeResult;
  /** An invalid config, and the path of its error. */
  rejects: { config: JsonObject; path: string };
}

interface CodeField {
  field: string;
  language: "javascript" | "jsonata";
}

/** The argument of `defineNode`. */
interface NodeSpec<Config extends z.ZodObject> {
  type: string;
  title: string;
  description: string;
  /** The name of a lucide icon. */
  icon: string;
  kind: NodeKind;
  /** The schema of `parameters` without `settings`. Strings are templates, except in `rawFields`. */
  config: Config;
  /**
   * The schema that a run uses, if versions that were published earlier can have values that `config` no
   * longer allows.
   */
  publishedConfig?: Config;
  ports: {
    in: readonly string[];
    /** The first port is the default. `error` is added, except for triggers and results. */
    out: readonly string[] | ((config: z.output<Config>) => readonly string[]);
  };
  /** Paths, such as `headers[].value`. `{{ secrets.KEY }}` is allowed there and in nested values. */
  secretFields?: readonly string[];
  /** Paths among `secretFields` whose value must be one reference to a secret, even in a draft. */
  secretOnlyFields?: readonly string[];
  /** The field with the URL to which secrets are sent. */
  sendsTo?: string;
  /** Paths at which strings are not templates, such as code. */
  rawFields?: readonly string[];
  /** The field with the author's code. */
  code?: CodeField;
  /** Whether the node has no default time limit, because its config or the run that it calls has limits. */
  hasOwnDeadline?: boolean;
  /** The default of `settings.retries`. */
  retries?: NonNullable<NodeSettings["retries"]>;
  /** Whether the node has no side effects, so that it can run again after a crash. */
  isPure?: boolean;
  /**
   * Whether the rendered config can contain `LargeJson`, which the node passes on as text. For other
   * types, `LargeJson` is parsed, up to a limit.
   */
  acceptsLarge?: boolean;
  /** For a trigger that is a tool. Its config must contain `toolFields`. */
  tool?(config: z.output<Config>): ToolOffer;
  /** For a trigger that fires for events. */
  listensTo?(config: z.output<Config>): EventSelection;
  /** For a trigger that fires at certain times. Its run input is a `ScheduleInput`. */
  schedule?(config: z.output<Config>): TriggerSchedule;
  /** Whether the node runs another flow, which `flow` and `trigger` in its config identify. */
  callsFlow?: boolean;
  /** The connections and tools that the node uses. Their existence is checked when the flow is saved. */
  usesTools?(config: z.output<Config>): ToolUse[];
  /** For each port, the variables, such as `item`, that templates of the nodes after the port may use. */
  locals?: Readonly<Record<string, readonly string[]>>;
  /** The schema of the output, as far as the config determines it. */
  outputSchema?(config: z.output<Config>, context: SchemaContext): JsonSchema | undefined;
  sample: NodeSample;
  /** The default, which triggers use, returns the input. */
  run(context: NodeContext<z.output<Config>>): NodeResult | Promise<NodeResult>;
}

export interface NodeDefinition
  extends Pick<NodeSpec<z.ZodObject>, "type" | "title" | "description" | "icon" | "kind"> {
  config: z.ZodObject;
  inPorts: readonly string[];
  /** Includes `error`. Undefined if the ports depend on the config, and the config is invalid. */
  outPorts(config: JsonObject): readonly string[] | undefined;
  secretFields: readonly Path[];
  secretOnlyFields: readonly Path[];
  sendsTo: string | undefined;
  rawFields: readonly Path[];
  code: CodeField | undefined;
  hasOwnDeadline: boolean;
  retries: NodeSettings["retries"];
  isPure: boolean;
  acceptsLarge: boolean;
  isTool: boolean;
  /** Undefined if the type is not a tool, or the config is invalid. */
  tool(config: JsonObject): ToolOffer | undefined;
  isEventTrigger: boolean;
  /** Undefined if the type does not fire for events, or the config is invalid. */
  listensTo(config: JsonObject): EventSelection | undefined;
  /** Undefined if the type does not fire at certain times, or the config is invalid. */
  schedule(config: JsonObject): TriggerSchedule | undefined;
  callsFlow: boolean;
  /** Undefined if the type uses no tools, or the config is invalid. */
  usesTools(config: JsonObject): ToolUse[] | undefined;
  locals: Readonly<Record<string, readonly string[]>>;
  outputSchema(config: JsonObject, context?: SchemaContext): JsonSchema | undefined;
  sample: NodeSample;
  /** Validates the config of the context, and throws `Permanent` if it is invalid. */
  run(context: NodeContext<JsonObject>): Promise<NodeResult>;
}

export type NodeRegistry = ReadonlyMap<string, NodeDefinition>;

export const createRegistry = (definitions: readonly NodeDefinition[]): NodeRegistry =>
  new Map(definitions.map((definition) => [definition.type, definition]));

export function defineNode<Config extends z.ZodObject>(
  spec: Omit<NodeSpec<Config>, "run"> & Partial<Pick<NodeSpec<Config>, "run">>,
): NodeDefinition {
  const { type, title, description, icon, kind, config, ports, sample } = spec;
  if ("settings" in config.shape) throw new Error(`${type}: \`settings\` is a reserved field.`);
  const { run = (context) => ({ output: context.input }), publishedConfig = config } = spec;
  const parseConfig = (parameters: JsonObject) => publishedConfig.safeParse(parameters).data;
  /** Returns a function that parses the config, and derives a result if the config is valid. */
  const fromConfig =
    <Result>(derive: ((config: z.output<Config>) => Result) | undefined) =>
    (parameters: JsonObject): Result | undefined => {
      const parsed = derive && parseConfig(parameters);
      return parsed && derive?.(parsed);
    };
  const withErrorPort = (out: readonly string[]) =>
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
      if (typeof ports.out !== "function") return withErrorPort(ports.out);
      const parsed = parseConfig(parameters);
      return parsed && withErrorPort(ports.out(parsed));
    },
    secretFields: (spec.secretFields ?? []).map((path) => pathOf(type, path)),
    secretOnlyFields: (spec.secretOnlyFields ?? []).map((path) => pathOf(type, path)),
    // Triggers have no templates, because no node runs before them.
    rawFields: kind === "trigger" ? [[]] : (spec.rawFields ?? []).map((path) => pathOf(type, path)),
    code: spec.code,
    sendsTo: spec.sendsTo,
    hasOwnDeadline: spec.hasOwnDeadline ?? false,
    retries: spec.retries,
    isPure: spec.isPure ?? false,
    acceptsLarge: spec.acceptsLarge ?? false,
    isTool: spec.tool !== undefined,
    tool: fromConfig(spec.tool),
    isEventTrigger: spec.listensTo !== undefined,
    listensTo: fromConfig(spec.listensTo),
    schedule: fromConfig(spec.schedule),
    callsFlow: spec.callsFlow ?? false,
    usesTools: fromConfig(spec.usesTools),
    locals: spec.locals ?? {},
    outputSchema: (parameters, context = {}) =>
      fromConfig((parsed) => spec.outputSchema?.(parsed, context))(parameters),
    async run(context) {
      const parsed = publishedConfig.safeParse(context.config);
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
