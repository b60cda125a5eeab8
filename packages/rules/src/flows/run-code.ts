/** Code that a flow's author wrote: what it is called with, and what becomes of its outcome. */
import type { JsonObject } from "../json.ts";
import { Permanent } from "./errors.ts";
import type { Evaluation } from "./evaluation.ts";
import type { NodeContext, NodeResult } from "./node-type.ts";

export async function runCode(
  context: NodeContext<unknown>,
  program: Omit<Evaluation, "data">,
): Promise<NodeResult> {
  const evaluated = await context.evaluate({ ...program, data: namesFor(context) });
  for (const line of evaluated.log) context.log(line);
  if ("output" in evaluated) return { output: evaluated.output };
  const { fault, message } = evaluated;
  throw new Permanent(
    fault === "code_failed" ? `The code failed: ${message}` : `The code ${message}.`,
    { code: fault },
  );
}

/** The same in every language. Outputs by slug are apart, since a slug can be any word. */
function namesFor({ input, scope }: Pick<NodeContext<unknown>, "input" | "scope">): JsonObject {
  const { trigger = null, nodes, item, index } = scope;
  return {
    input,
    trigger,
    nodes,
    ...(item === undefined ? {} : { item }),
    ...(index === undefined ? {} : { index }),
  };
}
