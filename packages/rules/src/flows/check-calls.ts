/**
 * Checks calls of other flows: that the flow and its trigger exist, are published and active, and accept
 * the input.
 */
import type { Json } from "../json.ts";
import { splitMembers } from "./check-tools.ts";
import { type Finding, fieldFinding, type WarningCode } from "./finding.ts";
import { writePath } from "./issues.ts";
import type { FlowDraft, FlowNode } from "./model.ts";
import type { NodeRegistry } from "./node-type.ts";
import { inputSchema } from "./parameters.ts";
import { isActive, type ResolvedFlow } from "./resolved-flow.ts";
import { splitParameters } from "./split-parameters.ts";
import { isCheap, validateInProcess } from "./validate-schema.ts";

/** A flow that another flow calls. */
export interface CalledFlow {
  name: string;
  /** The triggers of its published version; undefined if it is not published. */
  triggers: readonly FlowNode[] | undefined;
  draftTriggers?: readonly FlowNode[];
  /** Renamed triggers by their former slugs, which callers may still use. */
  renamed?: ReadonlyMap<string, FlowNode>;
}

export interface CallContext {
  /** The id of the calling flow. */
  id: string;
  /** The called flows, by id. */
  flows: ReadonlyMap<string, CalledFlow>;
}

type WithNodes = Pick<FlowDraft, "nodes">;

export const triggersIn = ({ nodes }: WithNodes, registry: NodeRegistry): FlowNode[] =>
  nodes.filter(({ type }) => registry.get(type)?.kind === "trigger");

/** Returns the flows and triggers that a flow calls. Omits a flow or trigger that a template sets. */
export const callsIn = (
  { nodes }: WithNodes,
  registry: NodeRegistry,
): { flow: string; trigger: string | undefined }[] =>
  nodes.flatMap((node) => {
    const flow = registry.get(node.type)?.callsFlow ? constantIn(node, "flow") : undefined;
    return flow === undefined ? [] : [{ flow, trigger: constantIn(node, "trigger") }];
  });

/** Finds a trigger by its id, or else by its slug. */
export const triggerOf = (triggers: readonly FlowNode[], idOrSlug: string): FlowNode | undefined =>
  triggers.find(({ id }) => id === idOrSlug) ?? triggers.find(({ slug }) => slug === idOrSlug);

export const checkCalls = (resolved: ResolvedFlow, context: CallContext): Finding<WarningCode>[] =>
  resolved.flow.nodes.flatMap((node) => checkCall(resolved, context, node));

function checkCall(
  resolved: ResolvedFlow,
  { id, flows }: CallContext,
  node: FlowNode,
): Finding<WarningCode>[] {
  const flow = resolved.definition(node)?.callsFlow ? constantIn(node, "flow") : undefined;
  if (flow === undefined) return [];
  const findings: Finding<WarningCode>[] = [];
  const warn = (code: WarningCode, path: string, message: string) => {
    findings.push(fieldFinding(code, node, path, message));
    return findings;
  };
  if (flow === id)
    warn(
      "calls_itself",
      "flow",
      "refers to this flow; the recursion ends at the limit SIGNALBOX_MAX_CHAIN",
    );
  const called = flows.get(flow);
  // Once this flow is published, its triggers are those of the draft.
  const triggers = flow === id ? resolved.triggers : called?.triggers;
  if (flow !== id && !called) return warn("no_such_flow", "flow", `there is no flow ${flow}`);
  const name = called?.name ?? "this flow";
  const draftTriggers = flow === id ? triggers : called?.draftTriggers;
  const draftTrigger = draftTriggers && calledTrigger(resolved, draftTriggers, node);
  const draftProblems = draftTrigger && inputProblems(resolved, node, draftTrigger);
  const warnOfInput = (trigger: FlowNode, problems: readonly InputProblem[]) => {
    for (const { path, message } of problems)
      if (draftProblems?.length === 0)
        warn(
          "not_published",
          path,
          `${message}: matches only the draft of ${name}, which is not published yet`,
        );
      else
        warn(
          "invalid_call",
          path,
          `${message}: must match the parameters of ${trigger.name} in ${name}`,
        );
  };
  if (!triggers) {
    warn("not_published", "flow", `${name} is not published yet`);
    if (draftTrigger) warnOfInput(draftTrigger, draftProblems ?? []);
    return findings;
  }
  const idOrSlug = constantIn(node, "trigger");
  const renamed = called?.renamed?.get(idOrSlug ?? "");
  const trigger = calledTrigger(resolved, triggers, node) ?? renamed;
  if (trigger) warnOfInput(trigger, inputProblems(resolved, node, trigger));
  if (node.parameters.trigger === undefined) {
    const tools = activeTools(resolved, triggers);
    if (tools.length === 0) warn("inactive_trigger", "flow", `${name} has no active tool`);
    if (tools.length > 1)
      warn(
        "no_such_trigger",
        "trigger",
        `is missing: ${name} has several active tools: ${tools.map(({ slug }) => slug).join(", ")}`,
      );
    return findings;
  }
  if (idOrSlug === undefined) return findings;
  if (!trigger)
    return warn(
      "no_such_trigger",
      "trigger",
      `the published version of ${name} has no trigger ${idOrSlug}`,
    );
  if (trigger === renamed)
    warn(
      "renamed_trigger",
      "trigger",
      `was renamed to ${trigger.slug} in ${name}; ${idOrSlug} works until another trigger gets that slug`,
    );
  if (!isActive(trigger))
    warn("inactive_trigger", "trigger", `the trigger ${trigger.name} of ${name} is not active`);
  return findings;
}

const activeTools = ({ definition }: ResolvedFlow, triggers: readonly FlowNode[]): FlowNode[] =>
  triggers.filter((trigger) => definition(trigger)?.isTool && isActive(trigger));

/** Returns undefined if a template sets the trigger, or if there is none or no only one. */
function calledTrigger(
  resolved: ResolvedFlow,
  triggers: readonly FlowNode[],
  node: FlowNode,
): FlowNode | undefined {
  if (node.parameters.trigger !== undefined) {
    const idOrSlug = constantIn(node, "trigger");
    return idOrSlug === undefined ? undefined : triggerOf(triggers, idOrSlug);
  }
  const [tool, ...others] = activeTools(resolved, triggers);
  return others.length === 0 ? tool : undefined;
}

interface InputProblem {
  path: string;
  message: string;
}

/**
 * Validates the input of a call, except for templates, and for schemas whose validation could be slow.
 * Only tools have parameters.
 */
function inputProblems(
  { definition }: ResolvedFlow,
  { parameters: { input = {} } }: FlowNode,
  trigger: FlowNode,
): InputProblem[] {
  const tool = definition(trigger)?.tool(splitParameters(trigger).config);
  if (!tool) return [];
  const schema = inputSchema(tool.parameters);
  return splitMembers(schema, schema, input as Json, ["input"]).flatMap((part) => {
    if ("message" in part) return [{ path: writePath(part.keys), message: part.message }];
    const error = isCheap([part.check]) ? validateInProcess(part.check) : undefined;
    return !error || error.isUnchecked
      ? []
      : [{ path: writePath([...part.keys, ...error.keys]), message: error.message }];
  });
}

/** Returns undefined for a template, whose value is known only when the node runs. */
function constantIn({ parameters }: FlowNode, field: string): string | undefined {
  const text = parameters[field];
  return typeof text === "string" && text !== "" && !text.includes("{{") ? text : undefined;
}
