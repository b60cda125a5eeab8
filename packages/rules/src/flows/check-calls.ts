/** Calls of other flows: that those can be called. */
import { type Finding, onNode, type WarningCode } from "./finding.ts";
import type { FlowDraft, FlowNode } from "./model.ts";
import type { NodeRegistry } from "./node-type.ts";
import { isActive, type Subject } from "./subject.ts";

export interface KnownFlow {
  name: string;
  /** Of its published version; undefined where there is none. */
  triggers: readonly FlowNode[] | undefined;
  /** Of these, by former slugs: those that callers still use. */
  renamed?: ReadonlyMap<string, FlowNode>;
}

/** What is known of where a flow stands: its own id, and the flows that it calls, by id. */
export interface Surroundings {
  id: string;
  flows: ReadonlyMap<string, KnownFlow>;
}

type Graph = Pick<FlowDraft, "nodes">;

export const triggersIn = ({ nodes }: Graph, registry: NodeRegistry): FlowNode[] =>
  nodes.filter(({ type }) => registry.get(type)?.kind === "trigger");

/** The flows that a flow calls, by their ids, and from which of their triggers, as far as that is written out. */
export const callsIn = (
  { nodes }: Graph,
  registry: NodeRegistry,
): { flow: string; trigger: string | undefined }[] =>
  nodes.flatMap((node) => {
    const flow = registry.get(node.type)?.callsFlow ? constantIn(node, "flow") : undefined;
    return flow === undefined ? [] : [{ flow, trigger: constantIn(node, "trigger") }];
  });

/** By its id, or else its slug. */
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
          "is this flow itself: it calls itself until the chain is stopped",
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
      ...warn("no_such_trigger", `${name} has no trigger ${wanted}, as it is published`, "trigger"),
    ];
  if (trigger === renamed)
    own.push(
      ...warn(
        "renamed_trigger",
        `${name} now calls it ${trigger.slug}; ${wanted} works only until another trigger is called so`,
        "trigger",
      ),
    );
  if (isActive(trigger)) return own;
  return [
    ...own,
    ...warn("inactive_trigger", `${trigger.name} of ${name} is switched off`, "trigger"),
  ];
}

/** Undefined for a template: its value is known only when it runs. */
function constantIn({ parameters }: FlowNode, field: string): string | undefined {
  const text = parameters[field];
  return typeof text === "string" && text !== "" && !text.includes("{{") ? text : undefined;
}
