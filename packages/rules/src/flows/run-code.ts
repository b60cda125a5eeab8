/** Runs the program of a `Code` or `Transform` node. */
import type { JsonObject } from "../json.ts";
import { parsed } from "../large-json.ts";
import { Permanent } from "./errors.ts";
import type { Evaluation } from "./evaluation.ts";
import type { NodeContext, NodeResult } from "./node-type.ts";

/** Like `Omit<Whole, "data">`, but for each member of a union. */
type WithoutData<Whole> = Whole extends unknown ? Omit<Whole, "data"> : never;

export async function runCode(
  context: NodeContext<unknown>,
  program: WithoutData<Evaluation>,
): Promise<NodeResult> {
  const result = await context.evaluate({ ...program, data: variables(context) } as Evaluation);
  for (const line of result.log) context.log(line);
  if ("output" in result) return { output: parsed(result.output) };
  const { error, message } = result;
  throw new Permanent(
    error === "code_failed" ? `The code failed: ${message}` : `The code ${message}.`,
    { code: error },
  );
}

/** The variables of a program, the same in every language. */
function variables({ input, scope }: Pick<NodeContext<unknown>, "input" | "scope">): JsonObject {
  const { trigger = null, nodes, item, index } = scope;
  return {
    input,
    trigger,
    nodes,
    ...(item === undefined ? {} : { item }),
    ...(index === undefined ? {} : { index }),
  };
}
