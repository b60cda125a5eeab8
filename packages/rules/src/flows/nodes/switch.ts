/** Continues on the port of the first matching case, or on `default` if no case matches. */
import { z } from "zod";
import { operators } from "../../match/operators.ts";
import { compareAll } from "../compare.ts";
import { mixedValue } from "../json-value.ts";
import { defineNode, ERROR_PORT } from "../node-type.ts";

const DEFAULT_PORT = "default";

const config = z.strictObject({
  value: mixedValue().describe("The value to compare."),
  cases: z
    .array(
      z.strictObject({
        name: z
          .string()
          .min(1)
          .max(100)
          .refine(
            (name) => name !== DEFAULT_PORT && name !== ERROR_PORT,
            "must not be default or error: every switch has these ports",
          )
          .describe("The name of the port."),
        op: z.enum(operators).default("eq").describe("The comparison operator."),
        value: mixedValue().describe("The value to compare with."),
      }),
    )
    .min(1, "must have at least one case")
    .max(50)
    .superRefine((cases, context) => {
      const names = cases.map(({ name }) => name);
      for (const [index, name] of names.entries())
        if (names.indexOf(name) !== index)
          context.addIssue({
            code: "custom",
            path: [index, "name"],
            message: `duplicate name ${name}`,
          });
    })
    .describe("The cases, in order: the first one that matches determines the port."),
});

export const switchNode = defineNode({
  type: "Switch",
  title: "Switch",
  description: "Continues on one of several branches, depending on a value.",
  icon: "Split",
  kind: "logic",
  isPure: true,
  acceptsLarge: true,
  config,
  ports: {
    in: ["in"],
    out: ({ cases }) => [...cases.map(({ name }) => name), DEFAULT_PORT],
  },
  sample: {
    config: {
      value: "bug",
      cases: [
        { name: "question", value: "question" },
        { name: "work", op: "in", value: ["bug", "feature"] },
      ],
    },
    input: { label: "bug" },
    result: { port: "work", output: { label: "bug" } },
    rejects: {
      config: {
        value: 1,
        cases: [
          { name: "a", value: 1 },
          { name: "a", value: 2 },
        ],
      },
      path: "cases[1].name",
    },
  },
  async run({ config: { value, cases }, input, evaluate }) {
    const tests = cases.map(({ op, value: right }) => ({ op, right }));
    const [results = []] = await compareAll({ evaluate }, [{ left: value, tests }]);
    return { port: cases[results.indexOf(true)]?.name ?? DEFAULT_PORT, output: input };
  },
});
