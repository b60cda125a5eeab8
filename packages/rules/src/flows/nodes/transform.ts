/** Computes its output from other values with a JSONata expression. */
import { z } from "zod";
import { MAX_EXPRESSION_LENGTH } from "../check-expressions.ts";
import { defineNode } from "../node-type.ts";
import { runCode } from "../run-code.ts";
import { textSchema } from "../text-schema.ts";

const config = z.strictObject({
  expression: textSchema("must be a JSONata expression")
    .regex(/\S/, "must not be empty")
    .max(MAX_EXPRESSION_LENGTH)
    .describe(
      "A JSONata expression. Its input is `{ input, trigger, nodes }`, where `nodes` has the outputs by slug; in a loop also `item` and `index`.",
    ),
});

export const transform = defineNode({
  type: "Transform",
  title: "Transform",
  description: "Selects and reshapes data with a JSONata expression.",
  icon: "Shuffle",
  kind: "data",
  isPure: true,
  config,
  ports: { in: ["in"], out: ["out"] },
  rawFields: ["expression"],
  code: { field: "expression", language: "jsonata" },
  sample: {
    config: {
      expression: 'input.issues[state = "open"].{ "title": title, "labels": [labels.name] }',
    },
    rejects: { config: { expression: " " }, path: "expression" },
  },
  run: (context) =>
    runCode(context, {
      job: "jsonata",
      expression: context.config.expression,
      timeoutMs: 1000,
    }),
});
