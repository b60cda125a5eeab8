/** What a client is told of a run that has ended, and of what went wrong before there was one. */
import {
  type CallToolResult,
  ProtocolError,
  ProtocolErrorCode,
} from "@modelcontextprotocol/server";
import { checkAgainst } from "@signalbox/rules/flows/json-schema.ts";
import { isObject, type Json, type JsonSchema } from "@signalbox/rules/json.ts";
import { z } from "zod";
import { RequestError } from "../lib/request-error.ts";
import { outcomeOf } from "../runs/runner.ts";
import type { Run } from "../store/run-store.ts";
import type { Store } from "../store/store.ts";

/** Keys of `_meta`. */
const RUN_ID = "signalbox/run";
export const RENAMED_TO = "signalbox/renamedTo";

export type ResultStore = Pick<Store, "getVersion" | "getTrigger">;

export async function resultOf(store: ResultStore, run: Run): Promise<CallToolResult> {
  const { id, tenant, flow_id, version, trigger_node } = run;
  const _meta = { [RUN_ID]: id };
  const ended = outcomeOf(run);
  if (ended.outcome === "cancelled") return { ...failed(`${ended.message} (run ${id})`), _meta };
  if (ended.outcome === "failed") {
    const { node_id } = ended;
    const graph = node_id ? await store.getVersion(tenant, flow_id, version) : undefined;
    const node = graph?.nodes.find(({ id }) => id === node_id);
    const where = node ? `node "${node.name}", run ${id}` : `run ${id}`;
    return { ...failed(`${ended.message} (${where})`), _meta };
  }
  const { output } = ended;
  const trigger = await store.getTrigger(tenant, flow_id, trigger_node);
  // Another version's schema says nothing of this run.
  const schema = trigger?.version === version ? trigger.config.outputSchema : undefined;
  const misfit = schema && checkAgainst(schema as JsonSchema, output);
  if (misfit) {
    const path = misfit.keys.join(".") || "the result";
    const why = `The flow's result does not fit its own schema: ${path}: ${misfit.message}`;
    return { ...failed(`${why} (run ${id})`), _meta };
  }
  return {
    content: [{ type: "text", text: textOf(output) }],
    ...(isObject(output) && { structuredContent: output }),
    _meta,
  };
}

/** Says that the tool goes by another name now. */
export const renamed = (result: CallToolResult, from: string, to: string): CallToolResult => ({
  ...result,
  content: [...result.content, { type: "text", text: renamedWords(from, to) }],
  _meta: { ...result._meta, [RENAMED_TO]: to },
});

export const renamedWords = (from: string, to: string): string =>
  `Note: ${from} is now called ${to}; the former name works for a while only.`;

export const failed = (text: string): CallToolResult => ({
  isError: true,
  content: [{ type: "text", text }],
});

const textOf = (output: Json): string =>
  typeof output === "string" ? output : JSON.stringify(output);

export const invalidParams = (message: string) =>
  new ProtocolError(ProtocolErrorCode.InvalidParams, message);

/** The SDK would tell the client whatever an error says. */
export function inWords(error: unknown, onError: (error: unknown) => void): ProtocolError {
  if (error instanceof ProtocolError) return error;
  if (error instanceof RequestError) return invalidParams(error.message);
  if (error instanceof z.ZodError)
    return invalidParams(
      error.issues
        .map(({ path, message }) => `${path.join(".") || "params"}: ${message}`)
        .join("; "),
    );
  onError(error);
  return new ProtocolError(
    ProtocolErrorCode.InternalError,
    "The hub could not do that just now; its log says why. Try again later.",
  );
}
