/** Suggests an input for a run from a trigger. */
import { readParameters } from "@signalbox/rules/flows/parameters.ts";
import { splitParameters } from "@signalbox/rules/flows/split-parameters.ts";
import { isObject, type JsonObject } from "@signalbox/rules/json.ts";
import { matchingData } from "../triggers/matching-data.ts";
import type { FlowNode } from "./graph.ts";
import { definitionOf } from "./node-kinds.ts";

const EMPTY_VALUES: JsonObject = { number: 0, integer: 0, boolean: false, array: [], object: {} };

/** Returns all parameters of a tool, or an event that the trigger matches. A schedule needs no input: the hub adds the tick. */
export function sampleInput(node: Pick<FlowNode, "type" | "parameters">): JsonObject {
  const definition = definitionOf(node);
  const { config } = splitParameters(node);
  if (definition?.isTool) return sampleArguments(config.parameters);
  if (!definition?.listensTo(config)) return {};
  const { source, type, params } = config;
  return {
    source: source ?? "",
    type: type ?? "",
    data: matchingData(isObject(params) ? params : {}),
  };
}

function sampleArguments(parameters: unknown): JsonObject {
  try {
    return Object.fromEntries(
      readParameters(parameters ?? []).map(({ name, type, enum: values, default: fallback }) => [
        name,
        fallback ?? values?.[0] ?? EMPTY_VALUES[type] ?? "",
      ]),
    );
  } catch {
    return {};
  }
}
