/** Maps a run that has ended to a tool result, and an error of a request to a protocol error. */
import type { CallToolResult } from "@modelcontextprotocol/server";
import { Permanent } from "@signalbox/rules/flows/errors.ts";
import { isObject, type Json } from "@signalbox/rules/json.ts";
import { errorResult } from "../../kernel/mcp/sdk-errors.ts";
import type { Store } from "../../store.ts";
import type { ToolCalls } from "../editing/tool-calls.ts";
import type { StoredTrigger } from "../model.ts";
import { type Run, toRunResult } from "../runs/model.ts";
import { parseLarge } from "../runs/step-values.ts";

/** Keys of `_meta`. */
const RUN_ID = "signalbox/run";
export const RENAMED_TO = "signalbox/renamedTo";

export type ResultStore = Pick<Store, "getVersion">;
export type ResultCalls = Pick<ToolCalls, "resultError">;

export async function runToolResult(
  store: ResultStore,
  calls: ResultCalls,
  run: Run,
  trigger?: StoredTrigger,
): Promise<CallToolResult> {
  const { id, tenant, flow_id, version } = run;
  const _meta = { [RUN_ID]: id };
  const ended = toRunResult(run);
  if (ended.outcome === "cancelled")
    return { ...errorResult(`${ended.message} (run ${id})`), _meta };
  if (ended.outcome === "failed") {
    const { node_id } = ended;
    const graph = node_id ? await store.getVersion(tenant, flow_id, version) : undefined;
    const node = graph?.nodes.find(({ id }) => id === node_id);
    const where = node ? `node "${node.name}", run ${id}` : `run ${id}`;
    return { ...errorResult(`${ended.message} (${where})`), _meta };
  }
  let output: Json;
  try {
    output = parseLarge(ended.output);
  } catch (error) {
    if (!(error instanceof Permanent)) throw error;
    const advice = `Read it at /api/runs/${id}/output, or let the flow return less.`;
    return {
      ...errorResult(`The result is too large for a tool: ${error.message} ${advice}`),
      _meta,
    };
  }
  const error = await calls.resultError({ ...run, output }, trigger);
  if (error) {
    const message = `The flow's result does not match its output schema: ${error}`;
    return { ...errorResult(`${message} (run ${id})`), _meta };
  }
  return {
    content: [{ type: "text", text: textOf(output) }],
    ...(isObject(output) && { structuredContent: output }),
    _meta,
  };
}

/** Adds a note that the tool has a new name. */
export const withRenamedNote = (
  result: CallToolResult,
  from: string,
  to: string,
): CallToolResult => ({
  ...result,
  content: [...result.content, { type: "text", text: renamedMessage(from, to) }],
  _meta: { ...result._meta, [RENAMED_TO]: to },
});

export const renamedMessage = (from: string, to: string): string =>
  `Note: the tool ${from} was renamed to ${to}. The former name works for a limited time.`;
const textOf = (output: Json): string =>
  typeof output === "string" ? output : JSON.stringify(output);
