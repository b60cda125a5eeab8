/** Runs another flow from one of its triggers, and waits for its result. */
import { z } from "zod";
import { jsonObject } from "../json-value.ts";
import { defineNode } from "../node-type.ts";
import { textSchema } from "../text-schema.ts";

const config = z.strictObject({
  flow: textSchema("must be a flow's id")
    .min(1, "must not be empty")
    .max(100)
    .describe("The id of a published flow."),
  trigger: textSchema("must be a trigger's id or slug")
    .min(1, "must not be empty")
    .max(100)
    .optional()
    .describe(
      "The id or the slug of one of that flow's triggers. If omitted, its only active tool.",
    ),
  input: jsonObject().default({}).describe("The input of the trigger."),
});

export const callFlow = defineNode({
  type: "CallFlow",
  title: "Call flow",
  description: "Runs another flow and returns its result.",
  icon: "Workflow",
  kind: "action",
  config,
  ports: { in: ["in"], out: ["out"] },
  hasOwnDeadline: true,
  callsFlow: true,
  sample: {
    config: { flow: "weather", trigger: "get_weather", input: { city: "Bern" } },
    rejects: { config: { flow: "weather", trigger: "" }, path: "trigger" },
  },
  run: async (context) => ({ output: await context.callFlow(context.config) }),
});
