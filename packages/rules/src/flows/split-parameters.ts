import type { Json, JsonObject } from "../json.ts";
import type { FlowNode } from "./model.ts";

/** Splits a node's `parameters` into the config of its type and the `settings` of every node. */
export function splitParameters({ parameters }: Pick<FlowNode, "parameters">): {
  config: JsonObject;
  settings: Json;
} {
  const { settings = {}, ...config } = parameters;
  return { config, settings };
}
