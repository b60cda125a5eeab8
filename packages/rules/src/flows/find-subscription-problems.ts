/** Warns of triggers whose subscription at the server of a connection does not work. */
import { type Finding, nodeFinding, type WarningCode } from "./finding.ts";
import type { FlowDraft } from "./model.ts";

/** The subscription of a published trigger. */
export interface SubscribedNode {
  node_id: string;
  wanted: "active" | "paused" | "removed";
  /** The state at the server. */
  state: "configuring" | "active" | "paused" | "failed";
  error: string | null;
  /** When the wanted state last changed. */
  updated_at: number;
}

type SubscriptionFinding = Finding<
  Extract<WarningCode, "subscription_failed" | "subscription_unconfirmed">
>;

/** A server usually confirms a new subscription within this time, so until then there is no warning. */
const CONFIRMATION_MS = 30_000;

/** Ignores nodes that were deleted from the draft. */
export const findSubscriptionProblems = (
  { nodes }: Pick<FlowDraft, "nodes">,
  subscriptions: readonly SubscribedNode[],
  now: number,
): SubscriptionFinding[] =>
  subscriptions.flatMap(({ node_id, wanted, state, error, updated_at }): SubscriptionFinding[] => {
    const node = nodes.find(({ id }) => id === node_id);
    if (!node || wanted !== "active") return [];
    const reason = error === null ? "" : `: ${error}`;
    if (state === "failed")
      return [
        nodeFinding(
          "subscription_failed",
          node,
          `the subscription has failed, so events do not arrive; the hub retries${reason}`,
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
  });
