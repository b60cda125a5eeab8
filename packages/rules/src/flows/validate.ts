/** Finds the errors and warnings of a flow, for API, CLI and UI. */
import type { FindAnalysis } from "./analyze-expression.ts";
import { type CallContext, checkCalls } from "./check-calls.ts";
import { checkCode } from "./check-code.ts";
import { checkConfigs } from "./check-config.ts";
import { checkExpressions, type FindSyntaxError } from "./check-expressions.ts";
import { checkGraph } from "./check-graph.ts";
import { checkReferences } from "./check-references.ts";
import { checkSecrets, findPlainSecrets } from "./check-secrets.ts";
import { checkSources } from "./check-sources.ts";
import { checkTools, findToolsFromData } from "./check-tools.ts";
import { type ErrorCode, type Finding, nodeFinding, type WarningCode } from "./finding.ts";
import type { FlowDraft } from "./model.ts";
import type { ToolContext } from "./node-schemas.ts";
import type { NodeRegistry } from "./node-type.ts";
import { isActive, type ResolvedFlow, resolveFlow } from "./resolved-flow.ts";
import { resultsInOneRun } from "./returns.ts";
import { splitParameters } from "./split-parameters.ts";
import { toolDescriptionOf, toolNameOf } from "./tool-fields.ts";

const NO_TRIGGERS = "This flow has no trigger nodes and cannot be executed via MCP.";
const NO_ACTIVE_TRIGGERS = "No active triggers";

export interface Validation {
  /** A flow with errors cannot be published. Some errors, such as a cycle, also prevent saving a draft. */
  errors: Finding<ErrorCode>[];
  warnings: Finding<WarningCode>[];
}

type FlowGraph = Pick<FlowDraft, "nodes" | "edges">;

/** Information from outside of the flow. If a field is missing, its checks are skipped. */
export interface ValidationContext {
  /** The flows that the flow calls. */
  calls?: CallContext;
  /** Parsers can take unbounded time, so the caller parses the programs of the flow beforehand. */
  findAnalysis?: FindAnalysis;
  findSyntaxError?: FindSyntaxError;
  /** The names of the tenant's secrets. */
  secrets?: ReadonlySet<string>;
  /** The connections that the flow uses, with their tools and triggers. */
  tools?: ToolContext;
}

export const validateFlow = (
  flow: FlowGraph,
  registry: NodeRegistry,
  context: ValidationContext = {},
): Validation => validate(resolveFlow(flow, registry, context), context);

/**
 * A draft can be saved before its secrets and connections exist, but a published flow would fail
 * without them, and with a call that the called flow rejects. A connection that fails for a while does not prevent publishing.
 */
export const preventsPublishing = ({ code }: Finding): boolean => PREVENTS_PUBLISHING.has(code);

const PREVENTS_PUBLISHING: ReadonlySet<Finding["code"]> = new Set([
  "missing_secret",
  "no_such_connection",
  "no_such_tool",
  "invalid_call",
]);

function validate(
  resolved: ResolvedFlow,
  { calls, findSyntaxError = () => undefined, secrets, tools }: ValidationContext,
): Validation {
  const references = checkReferences(resolved);
  const toolFindings = tools ? [checkSources(resolved, tools), checkTools(resolved, tools)] : [];
  return {
    errors: [
      ...checkGraph(resolved),
      ...checkConfigs(resolved),
      ...checkExpressions(resolved, findSyntaxError),
      ...references.errors,
      ...findPlainSecrets(resolved),
      ...toolFindings.flatMap(({ errors }) => errors),
    ],
    warnings: [
      ...findGraphWarnings(resolved),
      ...references.warnings,
      ...checkCode(resolved),
      ...checkSecrets(resolved, secrets),
      ...findToolsFromData(resolved),
      ...toolFindings.flatMap(({ warnings }) => warnings),
      ...(calls ? checkCalls(resolved, calls) : []),
    ],
  };
}

interface ExposedTool {
  nodeId: string;
  name: string;
  description: string;
}

interface ListenedEvents {
  nodeId: string;
  source: string;
  /** Empty if the trigger fires for events of any type. */
  type: string;
}

export interface FlowDescription extends Validation {
  /** The tools of this flow in `tools/list`. */
  exposedTools: ExposedTool[];
  /** The events for which the triggers of this draft fire. */
  listensTo: ListenedEvents[];
  hasTriggers: boolean;
}

/** Validates a flow, and adds the data that the lists and headers of flows show. */
export function describeFlow(
  flow: FlowGraph,
  registry: NodeRegistry,
  context: ValidationContext = {},
): FlowDescription {
  const resolved = resolveFlow(flow, registry, context);
  return {
    exposedTools: exposedTools(resolved),
    listensTo: listensTo(resolved),
    hasTriggers: resolved.triggers.length > 0,
    ...validate(resolved, context),
  };
}

const exposedTools = ({ flow, definition }: ResolvedFlow): ExposedTool[] =>
  flow.nodes.flatMap((node) => {
    const name = definition(node)?.isTool && isActive(node) ? toolNameOf(node) : undefined;
    return name ? [{ nodeId: node.id, name, description: toolDescriptionOf(node) }] : [];
  });

const listensTo = ({ flow, definition }: ResolvedFlow): ListenedEvents[] =>
  flow.nodes
    .filter((node) => definition(node)?.isEventTrigger)
    .map((node) => {
      const { config } = splitParameters(node);
      const { source, type } = definition(node)?.listensTo(config) ?? config;
      return { nodeId: node.id, source: textOf(source), type: textOf(type) };
    });

/** Returns "" for a value that is not text: an invalid draft can contain any value. */
const textOf = (value: unknown): string => (typeof value === "string" ? value : "");

function findGraphWarnings(resolved: ResolvedFlow): Finding<WarningCode>[] {
  const { flow, triggers, graph } = resolved;
  const findings: Finding<WarningCode>[] = [];
  if (triggers.length === 0) findings.push({ code: "no_triggers", message: NO_TRIGGERS });
  else if (!triggers.some(isActive))
    findings.push({ code: "no_active_triggers", message: NO_ACTIVE_TRIGGERS });
  for (const trigger of triggers)
    if (graph.outgoing(trigger.id).length === 0)
      findings.push(
        nodeFinding(
          "trigger_leads_nowhere",
          trigger,
          "is not connected to any nodes, so its runs do nothing",
        ),
      );
  const reached = new Set(triggers.flatMap((trigger) => [...resolved.reach(trigger)]));
  for (const node of flow.nodes)
    if (!reached.has(node.id))
      findings.push(
        nodeFinding("orphan_node", node, "is not reachable from a trigger, so it never runs"),
      );
  for (const [first, second] of resultsInOneRun(resolved))
    findings.push(
      nodeFinding(
        "two_returns",
        second,
        `one run can reach this node and ${first.name}, but a run has only one result`,
      ),
    );
  return findings;
}
