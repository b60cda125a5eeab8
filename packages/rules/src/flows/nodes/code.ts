/** Runs the author's JavaScript in a sandbox, without access to network or files. */
import { z } from "zod";
import { MAX_CODE_LENGTH } from "../check-expressions.ts";
import { defineNode } from "../node-type.ts";
import { runCode } from "../run-code.ts";
import { textSchema } from "../text-schema.ts";

const config = z.strictObject({
  code: textSchema("must be JavaScript")
    .regex(/\S/, "must not be empty")
    .max(MAX_CODE_LENGTH)
    .describe(
      "The body of a function with the parameters `input`, `trigger` and `nodes` (outputs by slug), in a loop also `item` and `index`. Its return value is the output; `await` is allowed. `console` writes to the step's log.",
    ),
  timeoutMs: z
    .int()
    .min(1)
    .max(2000)
    .default(50)
    .describe("CPU limit, in milliseconds on a typical machine."),
  memoryMb: z.int().min(16).max(128).default(32).describe("Memory limit, in megabytes."),
});

export const code = defineNode({
  type: "Code",
  title: "Code",
  description: "Runs JavaScript on the data, in a sandbox.",
  icon: "Braces",
  kind: "data",
  isPure: true,
  config,
  ports: { in: ["in"], out: ["out"] },
  rawFields: ["code"],
  code: { field: "code", language: "javascript" },
  sample: {
    config: {
      code: "const total = input.lines.reduce((sum, { price }) => sum + price, 0);\nreturn { total };",
    },
    rejects: { config: { code: "return 1", timeoutMs: 60_000 }, path: "timeoutMs" },
  },
  run: (context) => runCode(context, { job: "javascript", ...context.config }),
});
