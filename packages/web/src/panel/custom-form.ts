import type { JsonObject } from "@signalbox/rules/json.ts";

/** For node types whose form needs more data than the schema has, such as the tools of a connection. */
export interface CustomFormProps {
  /** The JSON Schema of the node's parameters. */
  schema: JsonObject;
  value: JsonObject;
  onChange: (value: JsonObject) => void;
}
