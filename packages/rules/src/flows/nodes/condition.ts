/** Continues on the port `true` or `false`. */
import { z } from "zod";
import { MAX_GLOB_LENGTH } from "../../match/glob.ts";
import { operators } from "../../match/operators.ts";
import { compareAll } from "../compare.ts";
import { mixedValue } from "../json-value.ts";
import { defineNode } from "../node-type.ts";

const config = z.strictObject({
  conditions: z
    .array(
      z
        .strictObject({
          left: mixedValue().describe("The value to compare."),
          op: z.enum(operators).describe("The comparison operator."),
          right: mixedValue().default(null).describe("The value to compare with."),
        })
        .refine(({ op, right }) => op !== "glob" || String(right).length <= MAX_GLOB_LENGTH, {
          path: ["right"],
          message: `must have at most ${MAX_GLOB_LENGTH} characters if op is 'glob'`,
        }),
    )
    .min(1, "must have at least one condition")
    .max(50)
    .describe("The conditions."),
  combine: z
    .enum(["all", "any"])
    .default("all")
    .describe("Whether all conditions or any condition must be true."),
});

export const condition = defineNode({
  type: "Condition",
  title: "Condition",
  description: "Continues on one of two branches, depending on conditions.",
  icon: "GitBranch",
  kind: "logic",
  isPure: true,
  acceptsLarge: true,
  config,
  ports: { in: ["in"], out: ["true", "false"] },
  sample: {
    config: { conditions: [{ left: "12", op: "gt", right: 10 }] },
    input: { degrees: 12 },
    result: { port: "true", output: { degrees: 12 } },
    rejects: { config: { conditions: [{ left: 1, op: "like" }] }, path: "conditions[0].op" },
  },
  async run({ config: { conditions, combine }, input, evaluate }) {
    const comparisons = conditions.map(({ left, op, right }) => ({ left, tests: [{ op, right }] }));
    const results = (await compareAll({ evaluate }, comparisons)).flat();
    const isTrue = combine === "all" ? !results.includes(false) : results.includes(true);
    return { port: String(isTrue), output: input };
  },
});
