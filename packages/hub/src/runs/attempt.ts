/** One attempt at one node: templates filled in, time limited, whatever goes wrong turned into words. */
import { NodeError, Permanent, RetryAt } from "@signalbox/rules/flows/errors.ts";
import type { Evaluate, LogLine } from "@signalbox/rules/flows/evaluation.ts";
import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import {
  type NodeContext,
  type NodeDefinition,
  type NodeResult,
  type NodeSettings,
  nodeSettings,
} from "@signalbox/rules/flows/node-type.ts";
import { referencesIn } from "@signalbox/rules/flows/references.ts";
import { renderConfig, type Scope } from "@signalbox/rules/flows/render.ts";
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import type { RunError } from "../store/run-store.ts";
import { createMask, type Mask } from "./mask.ts";

export interface AttemptOptions {
  tenant: string;
  node: FlowNode;
  definition: NodeDefinition;
  scope: Scope;
  context: Omit<NodeContext<JsonObject>, "config" | "signal" | "scope" | "log" | "evaluate">;
  evaluate: Evaluate;
  /** Of the run. */
  signal: AbortSignal;
  secrets: (names: readonly string[]) => Promise<Record<string, string>>;
  /** All that the flow speaks of, where it does: what one step sent, another may get back. */
  flowSecrets: (() => Promise<readonly string[]>) | undefined;
  defaultTimeoutMs: number;
}

interface Tried {
  /** Its config, with secrets masked. */
  input: Json;
  mask: Mask;
  /** Masked too. */
  log: LogLine[];
}
export interface Failed extends Tried {
  error: RunError;
  retryAt: number | "backoff" | "never";
}
export type Attempted<Result = NodeResult> = (Tried & { result: Result }) | Failed;

interface Parts {
  config: JsonObject;
  settings: NodeSettings;
  /** Names of secrets that its templates speak of. */
  secrets: readonly string[];
}

/** A node is asked several times in each step. */
const known = new WeakMap<FlowNode, Parts>();

export function splitParameters(node: FlowNode): Parts {
  const found = known.get(node);
  if (found) return found;
  const { settings = {}, ...config } = node.parameters;
  const secrets = referencesIn(config).flatMap(({ root, path }) =>
    root === "secrets" ? [String(path[0])] : [],
  );
  const parts = {
    config,
    settings: nodeSettings.safeParse(settings).data ?? {},
    secrets: [...new Set(secrets)],
  };
  known.set(node, parts);
  return parts;
}

export async function attempt(options: AttemptOptions): Promise<Attempted> {
  const { tenant, node, definition, scope, context, signal, secrets, flowSecrets } = options;
  const { config: template, settings, secrets: names } = splitParameters(node);
  const timeoutMs =
    settings.timeoutMs ?? (definition.hasOwnDeadline ? undefined : options.defaultTimeoutMs);
  const ending = new AbortController();
  const ended = Promise.withResolvers<never>();
  ended.promise.catch(() => {});
  // A node that does not listen to its signal is left behind; what others make of it comes second.
  const end = (reason: Error) => {
    ended.reject(reason);
    ending.abort(reason);
  };
  const onAbort = () => end(new Error("The run has ended."));
  signal.addEventListener("abort", onAbort, { once: true });
  if (signal.aborted) onAbort();
  let timeout: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;
  const startClock = () => {
    clearTimeout(timeout);
    // It may be told to start when all is over.
    if (timeoutMs === undefined || isOver) return;
    timeout = setTimeout(() => end(new TimedOut(timeoutMs)), timeoutMs);
  };
  /** That others are at work is no fault of the node's. */
  const hold = () => {
    clearTimeout(timeout);
    return startClock;
  };
  startClock();

  let mask = createMask([]);
  let input: Json = null;
  const log: LogLine[] = [];
  const run = async (): Promise<NodeResult> => {
    const opened = names.length === 0 ? {} : await secrets(names);
    if (flowSecrets) mask = createMask([...Object.values(opened), ...(await flowSecrets())]);
    const config = renderConfig(template, definition, scope, opened);
    input = mask.json(config);
    return definition.run({
      ...context,
      scope,
      config,
      signal: ending.signal,
      log: ({ level, text }) => log.push({ level, text: mask.text(text) }),
      evaluate: (evaluation) =>
        options.evaluate(evaluation, { tenant, signal: ending.signal, hold }),
    });
  };
  try {
    const result = await Promise.race([ended.promise, run()]);
    return { input, mask, log, result };
  } catch (error) {
    const retryAt =
      error instanceof RetryAt ? error.at : error instanceof Permanent ? "never" : "backoff";
    return { input, mask, log, error: mask.error(toRunError(error, node.id)), retryAt };
  } finally {
    isOver = true;
    clearTimeout(timeout);
    signal.removeEventListener("abort", onAbort);
  }
}

class TimedOut extends Error {
  readonly code = "timeout";
  constructor(timeoutMs: number) {
    super(`took longer than ${timeoutMs} ms`);
  }
}

function toRunError(error: unknown, node_id: string): RunError {
  if (error instanceof NodeError)
    return {
      code: error.code,
      message: error.message,
      node_id,
      ...(error.details === null ? {} : { details: error.details }),
    };
  const { message, code } = Object(error) as { message?: unknown; code?: unknown };
  return {
    code: typeof code === "string" ? code : "failed",
    message: typeof message === "string" && message !== "" ? message : String(error),
    node_id,
  };
}

export const unknownType = ({ id, type }: FlowNode): Failed => ({
  input: null,
  mask: createMask([]),
  log: [],
  error: { code: "unknown_node_type", message: `There is no node type ${type}.`, node_id: id },
  retryAt: "never",
});
