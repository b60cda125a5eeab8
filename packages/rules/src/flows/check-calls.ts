/** Checks calls of other flows: that the flow and its trigger exist, and are published and active. */
import { type Finding, onNode, type WarningCode } from "./finding.ts";
import type { FlowDraft, FlowNode } from "./model.ts";
import type { NodeRegistry } from "./node-type.ts";
import { isActive, type Subject } from "./subject.ts";

export interface KnownFlow {
  name: string;
  /** The triggers of its published version; undefined if it is not published. */
  triggers: readonly FlowNode[] | undefined;
  /** Triggers by the former slugs that callers still use. */
  renamed?: ReadonlyMap<string, FlowNode>;
}

/** The flow's own id, and the flows that it calls, by id. */
export interface Surroundings {
  id: string;
  flows: ReadonlyMap<string, KnownFlow>;
}

type Graph = Pick<FlowDraft, "nodes">;

export const triggersIn = ({ nodes }: Graph, registry: NodeRegistry): FlowNode[] =>
  nodes.filter(({ type }) => registry.get(type)?.kind === "trigger");

/** The flows and triggers that a flow calls, except those that a template names. */
export const callsIn = (
  { nodes }: Graph,
  registry: NodeRegistry,
): { flow: string; trigger: string | undefined }[] =>
  nodes.flatMap((node) => {
    const flow = registry.get(node.type)?.callsFlow ? constantIn(node, "flow") : undefined;
    return flow === undefined ? [] : [{ flow, trigger: constantIn(node, "trigger") }];
  });

/** Finds a trigger by its id, or else by its slug. */
export const triggerOf = (triggers: readonly FlowNode[], wanted: string): FlowNode | undefined =>
  triggers.find(({ id }) => id === wanted) ?? triggers.find(({ slug }) => slug === wanted);

export const checkCalls = (subject: Subject, around: Surroundings): Finding<WarningCode>[] =>
  subject.flow.nodes.flatMap((node) => checkCall(subject, around, node));

function checkCall(
  subject: Subject,
  { id, flows }: Surroundings,
  node: FlowNode,
): Finding<WarningCode>[] {
  const flow = subject.definition(node)?.callsFlow ? constantIn(node, "flow") : undefined;
  if (flow === undefined) return [];
  const warn = (code: WarningCode, message: string, path: string) => [
    onNode(code, node, `${path}: ${message}`, path),
  ];
  const own: Finding<WarningCode>[] =
    flow === id
      ? warn(
          "calls_itself",
          "is this flow: it calls itself until the limit of a chain stops it",
          "flow",
        )
      : [];
  const called = flows.get(flow);
  // Once this flow is published, its triggers are those of the draft.
  const triggers = flow === id ? subject.triggers : called?.triggers;
  if (flow !== id && !called) return warn("no_such_flow", `there is no flow ${flow}`, "flow");
  if (!triggers) return warn("not_published", `${called?.name} is not published yet`, "flow");
  const wanted = constantIn(node, "trigger");
  if (wanted === undefined) return own;
  const renamed = called?.renamed?.get(wanted);
  const trigger = triggerOf(triggers, wanted) ?? renamed;
  const name = called?.name ?? "this flow";
  if (!trigger)
    return [
      ...own,
      ...warn(
        "no_such_trigger",
        `the published version of ${name} has no trigger ${wanted}`,
        "trigger",
      ),
    ];
  if (trigger === renamed)
    own.push(
      ...warn(
        "renamed_trigger",
        `is now ${trigger.slug} in ${name}; ${wanted} works until another trigger gets that slug`,
        "trigger",
      ),
    );
  if (isActive(trigger)) return own;
  return [
    ...own,
    ...warn("inactive_trigger", `${trigger.name} of ${name} is not active`, "trigger"),
  ];
}

/** Undefined for a template: its value is known only when it runs. */
function constantIn({ parameters }: FlowNode, field: string): string | undefined {
  const text = parameters[field];
  return typeof text === "string" && text !== "" && !text.includes("{{") ? text : undefined;
}
