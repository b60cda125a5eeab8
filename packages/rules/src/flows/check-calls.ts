/** Checks calls of other flows: that the flow and its trigger exist, and are published and active. */
import { type Finding, nodeFinding, type WarningCode } from "./finding.ts";
import type { FlowDraft, FlowNode } from "./model.ts";
import type { NodeRegistry } from "./node-type.ts";
import { isActive, type ResolvedFlow } from "./resolved-flow.ts";

/** A flow that another flow calls. */
export interface CalledFlow {
  name: string;
  /** The triggers of its published version; undefined if it is not published. */
  triggers: readonly FlowNode[] | undefined;
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
    findings.push(nodeFinding(code, node, `${path}: ${message}`, path));
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
  if (!triggers) return warn("not_published", "flow", `${called?.name} is not published yet`);
  const idOrSlug = constantIn(node, "trigger");
  const name = called?.name ?? "this flow";
  if (node.parameters.trigger === undefined) {
    const tools = triggers.filter(
      (trigger) => resolved.definition(trigger)?.isTool && isActive(trigger),
    );
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
  const renamed = called?.renamed?.get(idOrSlug);
  const trigger = triggerOf(triggers, idOrSlug) ?? renamed;
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

/** Returns undefined for a template, whose value is known only when the node runs. */
function constantIn({ parameters }: FlowNode, field: string): string | undefined {
  const text = parameters[field];
  return typeof text === "string" && text !== "" && !text.includes("{{") ? text : undefined;
}
