/**
 * What a type of node is, as data. To add one: a file in nodes/ and a line in nodes/index.ts; the
 * suite in nodes/nodes.test.ts then checks its schema and ports, and runs its sample.
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

/** Every node that something can follow has it, but no trigger: what failed goes on along its edges. */
export const ERROR_PORT = "error";

/** Kept in `parameters.settings` of every node, beside the config of its type. */
export const nodeSettings = z.strictObject({
  retries: z
    .strictObject({
      attempts: z.int().min(1).max(20).describe("How often to try, the first time included."),
      backoffMs: z
        .int()
        .min(0)
        .max(3_600_000)
        .default(1000)
        .describe("The wait before the second attempt; it doubles each time, up to an hour."),
    })
    .optional()
    .describe("What fails is tried again, unless that cannot help."),
  timeoutMs: z
    .int()
    .min(1)
    .max(86_400_000)
    .optional()
    .describe(
      "For one attempt; where nothing is said, a minute, and for a CallFlow none. Code that waits for its turn does not use it up.",
    ),
  continueOnError: z
    .boolean()
    .optional()
    .describe(
      "A failure is no end: the run goes on at the first port, with `{ error: { code, message } }`. Of a loop, each round does so: that stands in place of its result.",
    ),
});
export type NodeSettings = z.output<typeof nodeSettings>;

/** One of the edges that brought something on this run. */
export interface NodeInput {
  /** Of the node that it comes from. */
  slug: string;
  /** The port of this node. */
  port: string;
  output: Json;
}

/** Everything that a node can reach; what is not in here, it cannot do. */
export interface NodeContext<Config> {
  /** Templates are filled in, and the schema holds. */
  config: Config;
  /** The output of the node before; of several, an object by slug. A trigger gets what started it. */
  input: Json;
  /** Only what arrived: branches that were not taken are not among them. */
  inputs: readonly NodeInput[];
  scope: Scope;
  run: { id: string; flowId: string; nodeId: string; slug: string; attempt: number };
  /** Aborted when the run is cancelled, or the node's time is up. */
  signal: AbortSignal;
  /** The same on every attempt at this step: send it along with whatever has effects outside. */
  idempotencyKey: string;
  /** Set where the node asked to wait, and is called again. */
  resumed?: Resumed;
  now(): number;
  /** Kept with the step, also where it fails. */
  log(line: LogLine): void;
  /** Refuses addresses inside the network. */
  fetch: GuardedFetch;
  /** Runs code of the flow's author, where it reaches nothing and nobody has to wait for it. */
  evaluate(evaluation: Evaluation): Promise<EvaluationResult>;
  /** Stores an event, once for each `id` of this step, with the run as its cause. */
  emit(event: { type: string; data: JsonObject; id?: string }): Promise<{ id: string }>;
  /** Runs a flow from one of its triggers; when a step is repeated, joins the run that it began. */
  callFlow(call: { flow: string; trigger: string; input: JsonObject }): Promise<Json>;
  /** Calls a tool of a connection. A result that the server marks as an error is thrown. */
  callTool(call: { connection: string; tool: string; arguments: JsonObject }): Promise<Json>;
  listTools(connection: string): Promise<ConnectionTool[]>;
}

interface ConnectionTool {
  name: string;
  description: string;
  inputSchema: JsonSchema;
}

/** Nothing runs while a node waits, and a restart does not disturb it. */
export interface Wait {
  /** When to be called again at the latest; null where only an answer ends it. */
  until: number | null;
  /** What else ends it: somebody's answer, or an event. */
  for?:
    | { kind: "answer"; prompt: string; data?: Json }
    | { kind: "event"; source: string; type?: string; params?: JsonObject; filter?: string };
  /** Handed back in `resumed`. */
  state?: Json;
}

export interface Resumed {
  state: Json;
  /** The answer, or the event; undefined where the time was up. */
  answer?: Json;
}

/** Of a loop: where its rounds begin. What comes through its first port goes on after the last one. */
export const ITEM_PORT = "item";

/**
 * `port` may be left out where the node has only one. `each` runs what is reached through the port
 * `item` once for each of them; the list of their results is then the node's output.
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
  /** Left out where the node needs more than its input: then it has tests of its own. */
  result?: NodeResult;
  /** A config that must be refused, and the path that the error names. */
  refuses: { config: JsonObject; path: string };
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
  /** Of `parameters`, without `settings`. Strings may be templates; see `rawFields`. */
  config: Config;
  ports: {
    in: readonly string[];
    /** The first is where things go on by default. `error` is added to those of an action or the like. */
    out: readonly string[] | ((config: z.output<Config>) => readonly string[]);
  };
  /** Paths such as `headers[].value`; `{{ secrets.KEY }}` is allowed there and below. */
  secretFields?: readonly string[];
  /** The field with the URL that secrets are sent to. */
  sendsTo?: string;
  /** Paths to code in another language: no templates in there, whatever it looks like. */
  rawFields?: readonly string[];
  /** The field with a program of the author. */
  code?: CodeField;
  /** What it waits for has limits of its own: without a `timeoutMs` in its settings, it has none. */
  hasOwnDeadline?: boolean;
  /** For a trigger that agents call as a tool; its config has `toolFields`. */
  tool?(config: z.output<Config>): ToolOffer;
  /** For a trigger that events start. */
  listensTo?(config: z.output<Config>): EventSelection;
  /** Whether it runs another flow: `flow` and `trigger` in its config name it. */
  callsFlow?: boolean;
  /** Names that templates may use in nodes that are reached through a port, such as `item`. */
  locals?: Readonly<Record<string, readonly string[]>>;
  /** Of what it gives out, where that is known beforehand. */
  outputSchema?(config: z.output<Config>): JsonSchema | undefined;
  sample: NodeSample;
  /** A trigger's default is to pass on what started it. */
  run(context: NodeContext<z.output<Config>>): NodeResult | Promise<NodeResult>;
}

export interface NodeDefinition
  extends Pick<NodeRecipe<z.ZodObject>, "type" | "title" | "description" | "icon" | "kind"> {
  config: z.ZodObject;
  inPorts: readonly string[];
  /** With `error`. Undefined where they depend on a config that does not hold. */
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
  /** Checks the config, with its templates filled in, before anything runs. */
  run(context: NodeContext<JsonObject>): Promise<NodeResult>;
}

export type NodeRegistry = ReadonlyMap<string, NodeDefinition>;

export const createRegistry = (definitions: readonly NodeDefinition[]): NodeRegistry =>
  new Map(definitions.map((definition) => [definition.type, definition]));

/** Inert: names, schema and functions, nothing that holds a resource. */
export function defineNode<Config extends z.ZodObject>(
  recipe: Omit<NodeRecipe<Config>, "run"> & Partial<Pick<NodeRecipe<Config>, "run">>,
): NodeDefinition {
  const { type, title, description, icon, kind, config, ports, sample } = recipe;
  if ("settings" in config.shape) throw new Error(`${type}: \`settings\` is every node's own.`);
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
    // Before a trigger there is nothing that a template could speak of.
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
