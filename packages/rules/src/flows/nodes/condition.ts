/** Goes one of two ways. */
import { z } from "zod";
import { GLOB_LENGTH } from "../../match/glob.ts";
import { holds, operators } from "../../match/operators.ts";
import { defineNode } from "../node-type.ts";

const config = z.strictObject({
  conditions: z
    .array(
      z
        .strictObject({
          left: z.json().describe("What is looked at."),
          op: z.enum(operators).describe("How it is compared."),
          right: z.json().default(null).describe("What it is compared with."),
        })
        .refine(({ op, right }) => op !== "glob" || String(right).length <= GLOB_LENGTH, {
          path: ["right"],
          message: `must be at most ${GLOB_LENGTH} characters for glob`,
        }),
    )
    .min(1, "must be at least one")
    .max(50)
    .describe("What must hold."),
  combine: z.enum(["all", "any"]).default("all").describe("How many of them must hold."),
});

export const condition = defineNode({
  type: "Condition",
  title: "Condition",
  description: "Goes on one way where the conditions hold, and another where they do not.",
  icon: "GitBranch",
  kind: "logic",
  config,
  ports: { in: ["in"], out: ["true", "false"] },
  sample: {
    config: { conditions: [{ left: "12", op: "gt", right: 10 }] },
    input: { degrees: 12 },
    result: { port: "true", output: { degrees: 12 } },
    refuses: { config: { conditions: [{ left: 1, op: "like" }] }, path: "conditions[0].op" },
  },
  run({ config: { conditions, combine }, input }) {
    const results = conditions.map(({ left, op, right }) => holds(op, [left], right));
    const fits = combine === "all" ? !results.includes(false) : results.includes(true);
    return { port: String(fits), output: input };
  },
});
