/** Returns the result of the run. */
import { z } from "zod";
import type { Json, JsonSchema } from "../../json.ts";
import { mixedValue } from "../json-value.ts";
import { defineNode } from "../node-type.ts";
import { schemaProblem } from "../schema-problem.ts";
import { schemaOfTemplate } from "../template-schema.ts";

const config = z.strictObject({
  value: mixedValue()
    .optional()
    .describe("The result. If omitted, the node's input is the result."),
  schema: z
    .record(z.string(), z.json())
    .superRefine((schema, context) => {
      const problem = schemaProblem(schema);
      if (problem) context.addIssue({ code: "custom", message: problem });
    })
    .optional()
    .describe(
      "JSON Schema of the value, for the tool's `outputSchema`. If omitted, it is derived from the value.",
    ),
});

export const returnNode = defineNode({
  type: "Return",
  title: "Return",
  description: "Returns a result.",
  icon: "CornerDownLeft",
  kind: "result",
  isPure: true,
  acceptsLarge: true,
  config,
  ports: { in: ["in"], out: [] },
  rawFields: ["schema"],
  outputSchema: ({ value, schema }, { input, reference }): JsonSchema | undefined =>
    schema ?? (value === undefined ? input?.() : schemaOfTemplate(value as Json, reference)),
  sample: {
    config: { value: { city: "Bern", degrees: 12 } },
    input: null,
    result: { output: { city: "Bern", degrees: 12 } },
    rejects: { config: { schema: { type: "thing" } }, path: "schema" },
  },
  run: ({ config: { value }, input }) => ({ output: value === undefined ? input : value }),
});
