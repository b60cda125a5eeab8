/** Warns of triggers whose subscription at the server of a connection does not work. */
import type { JsonObject } from "../json.ts";
import { type Finding, fieldFinding, nodeFinding, type WarningCode } from "./finding.ts";
import { writePath } from "./issues.ts";
import type { FlowDraft, FlowNode } from "./model.ts";

/** The subscription of a published trigger. */
export interface SubscribedNode {
  node_id: string;
  /** Empty if it is a subscription to every type. */
  type: string;
  wanted: "active" | "paused" | "removed";
  /** The state at the server. */
  state: "configuring" | "active" | "paused" | "failed";
  error: string | null;
  /** By param, the default that the server may assume although the trigger has another value. */
  assumed: JsonObject;
  /** When the wanted state last changed. */
  updated_at: number;
}

type SubscriptionFinding = Finding<
  Extract<WarningCode, "subscription_failed" | "subscription_unconfirmed" | "assumed_default">
>;

/** A server usually confirms a new subscription within this time, so until then there is no warning. */
const CONFIRMATION_MS = 30_000;

/** Ignores nodes that were deleted from the draft. */
export const findSubscriptionProblems = (
  { nodes }: Pick<FlowDraft, "nodes">,
  subscriptions: readonly SubscribedNode[],
  now: number,
): SubscriptionFinding[] =>
  subscriptions.flatMap((subscription) => {
    const node = nodes.find(({ id }) => id === subscription.node_id);
    if (!node || subscription.wanted !== "active") return [];
    return [...findUnconfirmed(node, subscription, now), ...findAssumed(node, subscription)];
  });

function findUnconfirmed(
  node: FlowNode,
  { type, state, error, updated_at }: SubscribedNode,
  now: number,
): SubscriptionFinding[] {
  const reason = error === null ? "" : `: ${error}`;
  const effect = type === "" ? "events of some types do not arrive" : "events do not arrive";
  if (state === "failed")
    return [
      nodeFinding(
        "subscription_failed",
        node,
        `the subscription has failed, so ${effect}; the hub retries${reason}`,
      ),
    ];
  const isLate = state === "configuring" && updated_at <= now - CONFIRMATION_MS;
  if (error === null && !isLate) return [];
  return [
    nodeFinding(
      "subscription_unconfirmed",
      node,
      `the subscription is not confirmed, so events may not arrive; the hub retries${reason}`,
    ),
  ];
}

/** The conditions of one trigger cannot cause this, so `checkSources` does not find it. */
const findAssumed = (node: FlowNode, { assumed }: SubscribedNode): SubscriptionFinding[] =>
  Object.entries(assumed).map(([param, value]) => {
    const path = writePath(["params", param]);
    const message = `the server may assume ${JSON.stringify(value)}, because its triggers share one subscription, and the hub sends only values that all of them have; if so, this trigger gets no events. Add a second connection to the server for it`;
    return fieldFinding("assumed_default", node, path, message);
  });
