/** The concurrency setting of a trigger. */
import { z } from "zod";
import { parsePath } from "../match/path.ts";

export const pathSchema = z
  .string()
  .max(200)
  .refine((text) => parsePath(text) !== undefined, "must be a path such as repository.full_name");

export const concurrencySchema = z.strictObject({
  most: z.int().min(1).max(1000).describe("The maximum number of concurrent runs of this trigger."),
  key: pathSchema
    .optional()
    .describe(
      "A path into the event's data or the tool's input. Runs are counted separately for each value there.",
    ),
  whenFull: z
    .enum(["queue", "skip", "replace"], "must be queue, skip or replace")
    .default("queue")
    .describe(
      "What happens to a new run if the limit is reached. `queue`: it waits. `skip`: it does not run. `replace`: it waits, and other runs that wait for the same limit and have never started are cancelled.",
    ),
});
export type Concurrency = z.output<typeof concurrencySchema>;
