/** Makes one value out of others, by a JSONata expression. */
import { z } from "zod";
import { defineNode } from "../node-type.ts";
import { runCode } from "../run-code.ts";
import { checkExpression, EXPRESSION_LENGTH } from "../run-jsonata.ts";
import { text } from "../text.ts";

const config = z.strictObject({
  /** Over `{ input, trigger, nodes }`, where `nodes` has outputs by slug; in a loop also `item` and `index`. */
  expression: text("must be a JSONata expression")
    .regex(/\S/, "must not be empty")
    .max(EXPRESSION_LENGTH)
    .superRefine((text, context) => {
      const problem = checkExpression(text);
      if (problem) context.addIssue({ code: "custom", message: problem });
    })
    .describe(
      "JSONata over `{ input, trigger, nodes }`, where `nodes` has outputs by slug; in a loop also `item` and `index`.",
    ),
});

export const transform = defineNode({
  type: "Transform",
  title: "Transform",
  description: "Selects and reshapes data with a JSONata expression.",
  icon: "Shuffle",
  kind: "data",
  config,
  ports: { in: ["in"], out: ["out"] },
  rawFields: ["expression"],
  sample: {
    config: {
      expression: 'input.issues[state = "open"].{ "title": title, "labels": [labels.name] }',
    },
    refuses: { config: { expression: "input.(" }, path: "expression" },
  },
  run: (context) =>
    runCode(context, {
      language: "jsonata",
      code: context.config.expression,
      timeoutMs: 1000,
      memoryMb: 128,
    }),
});
