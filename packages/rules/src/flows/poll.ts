/** The setting `poll` of an `Event` trigger. */
import { z } from "zod";
import { pathSchema } from "./concurrency.ts";
import { jsonObject } from "./json-value.ts";
import { textSchema } from "./text-schema.ts";

/** Creates events for a server without triggers: a tool returns a list, and each new item is an event. */
export const pollSchema = z.strictObject({
  tool: textSchema("must be the name of a tool")
    .min(1, "must not be empty")
    .max(200)
    .describe("A tool of the connection that returns a list."),
  arguments: jsonObject().default({}).describe("The arguments of the tool."),
  items: pathSchema
    .optional()
    .describe("The path of the list in the tool's result; the result itself if omitted."),
  key: pathSchema.describe(
    "The path of a value that identifies an item. Each new value is an event.",
  ),
  everySeconds: z
    .int()
    .min(10, "must be at least 10")
    .max(86_400, "must be at most 86400")
    .default(60)
    .describe("The time between two calls, in seconds."),
});
export type Poll = z.output<typeof pollSchema>;
