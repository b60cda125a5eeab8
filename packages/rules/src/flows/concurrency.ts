/** How many runs of a trigger may be active at the same time, and what happens to the others. */
import { z } from "zod";
import { parsePath } from "../match/path.ts";

export const pathSchema = z
  .string()
  .max(200)
  .refine((text) => parsePath(text) !== undefined, "must be a path such as repository.full_name");

export const concurrencySchema = z.strictObject({
  most: z.int().min(1).max(1000).describe("How many of its runs may be active at the same time."),
  key: pathSchema
    .optional()
    .describe(
      "Counts runs separately for each value at this path into the event's data or the tool's input.",
    ),
  whenFull: z
    .enum(["queue", "skip", "replace"], "must be queue, skip or replace")
    .default("queue")
    .describe(
      "What happens to other runs. `queue`: they wait. `skip`: they do not run. `replace`: only the newest waits; the one that waited before it is cancelled.",
    ),
});
export type Concurrency = z.output<typeof concurrencySchema>;
