/** Stores an event, which agents can read and which can start other flows. */
import { z } from "zod";
import { mixedObject } from "../json-value.ts";
import { defineNode } from "../node-type.ts";
import { textSchema } from "../text-schema.ts";

const config = z.strictObject({
  type: textSchema("must be the event's type")
    .min(1, "must not be empty")
    .max(200)
    .regex(/^\P{Cc}*$/u, "must not contain control characters")
    .describe("The event's type."),
  data: mixedObject().default({}).describe("The event's payload."),
});

export const emitEvent = defineNode({
  type: "EmitEvent",
  title: "Emit event",
  description: "Stores an event, which agents can read and which can start other flows.",
  icon: "Radio",
  kind: "action",
  acceptsLarge: true,
  config,
  ports: { in: ["in"], out: ["out"] },
  outputSchema: () => ({
    type: "object",
    properties: { id: { type: "string" } },
    required: ["id"],
  }),
  sample: {
    config: { type: "invoice.overdue", data: { invoice: 17 } },
    rejects: { config: { type: "" }, path: "type" },
  },
  run: async ({ config, emit }) => ({ output: await emit(config) }),
});
