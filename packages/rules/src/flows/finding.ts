/** An error or a warning about a flow. */
import type { FlowNode } from "./model.ts";

export type ErrorCode =
  | "cycle"
  | "unknown_node_type"
  | "invalid_config"
  | "invalid_arguments"
  | "missing_node"
  | "missing_port"
  | "duplicate_id"
  | "duplicate_edge"
  | "duplicate_slug"
  | "duplicate_tool_name"
  | "template_syntax"
  | "dangling_reference"
  | "reference_not_before"
  | "not_in_loop"
  | "secret_not_allowed"
  | "plain_secret"
  | "trigger_with_input";

export const WARNING_CODES = [
  "no_triggers",
  "no_active_triggers",
  "trigger_leads_nowhere",
  "orphan_node",
  "two_returns",
  "reference_not_always",
  "breaker_tripped",
  "no_such_parameter",
  "no_such_field",
  "no_such_connection",
  "no_such_tool",
  "tool_from_data",
  "no_such_source",
  "no_such_event_type",
  "no_such_param",
  "invalid_param_value",
  "missing_param",
  "assumed_default",
  "subscription_failed",
  "subscription_unconfirmed",
  "connection_failed",
  "connection_not_checked",
  "unknown_node_in_code",
  "secret_in_code",
  "secret_to_any_host",
  "missing_secret",
  "no_such_flow",
  "not_published",
  "no_such_trigger",
  "renamed_trigger",
  "inactive_trigger",
  "invalid_call",
  "calls_itself",
] as const;
export type WarningCode = (typeof WARNING_CODES)[number];

export interface Finding<Code extends ErrorCode | WarningCode = ErrorCode | WarningCode> {
  code: Code;
  /** A sentence for people, with the name of the node and mostly with the path. */
  message: string;
  /** The message without the name of the node and the path. */
  problem?: string;
  nodeId?: string;
  edgeId?: string;
  /** The path into the node's parameters. */
  path?: string;
}

export const nodeFinding = <Code extends ErrorCode | WarningCode>(
  code: Code,
  node: FlowNode,
  problem: string,
  path?: string,
): Finding<Code> => ({
  code,
  message: `${node.name}: ${problem}`,
  problem,
  nodeId: node.id,
  ...(path === undefined ? {} : { path }),
});

/** A finding about one parameter: its message contains the path. */
export const fieldFinding = <Code extends ErrorCode | WarningCode>(
  code: Code,
  node: FlowNode,
  path: string,
  problem: string,
): Finding<Code> => ({
  ...nodeFinding(code, node, problem, path),
  message: `${node.name}: ${path}: ${problem}`,
});
