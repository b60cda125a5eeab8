/** The bodies of requests that test drafts. */
import { jsonObject } from "@signalbox/rules/flows/json-value.ts";
import { z } from "zod";

const pin = z.strictObject({
  output: z.json(),
  port: z.string().max(100).optional().describe("The port on which the run continues."),
});

export const pinsSchema = z
  .record(z.string().max(100), pin, "must be an object")
  .default({})
  .describe("Outputs of nodes, by node id or slug. A pinned node is not executed.");

export const nodeTestBody = z.strictObject({
  trigger: z
    .string()
    .min(1)
    .max(100)
    .optional()
    .describe(
      "Default: the trigger of `from_run` or, without `from_run`, a trigger that reaches the node.",
    ),
  input: jsonObject("must be an object")
    .optional()
    .describe(
      "The value of `{{ trigger }}`. Default: the trigger input of `from_run` or, without `from_run`, `{}`.",
    ),
  pins: pinsSchema,
  from_run: z
    .string()
    .max(100)
    .optional()
    .describe("A run of the flow, whose outputs are used for nodes that `pins` does not contain."),
});
