import type { JsonObject } from "@signalbox/rules/json.ts";

/** The form of a type of node that needs more than its schema says, such as a list of tools. */
export interface OwnFormProps {
  /** JSON Schema of the parameters. */
  schema: JsonObject;
  value: JsonObject;
  onChange: (value: JsonObject) => void;
}
