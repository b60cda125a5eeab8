/** Runs another flow from one of its triggers, and waits for its result. */
import { z } from "zod";
import { defineNode } from "../node-type.ts";

const config = z.strictObject({
  flow: z.string("must be a flow's id").min(1, "must not be empty").max(100),
  /** The id or the slug of one of that flow's triggers. */
  trigger: z.string("must be a trigger's id or slug").min(1, "must not be empty").max(100),
  /** What the trigger is started with. */
  input: z.record(z.string(), z.json()).default({}),
});

export const callFlow = defineNode({
  type: "CallFlow",
  title: "Call flow",
  description: "Runs another flow, and gives out its result.",
  icon: "Workflow",
  kind: "action",
  config,
  ports: { in: ["in"], out: ["out"] },
  sample: {
    config: { flow: "weather", trigger: "get_weather", input: { city: "Bern" } },
    refuses: { config: { flow: "weather", trigger: "" }, path: "trigger" },
  },
  run: async (context) => ({ output: await context.callFlow(context.config) }),
});
