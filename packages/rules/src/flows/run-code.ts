/** Runs the program of a `Code` or `Transform` node. */
import { LARGE_BYTES, LargeJson, type MixedJson, type MixedObject } from "../large-json.ts";
import { Permanent } from "./errors.ts";
import type { Evaluation } from "./evaluation.ts";
import type { NodeContext, NodeResult } from "./node-type.ts";
import { mayRead } from "./referenced-nodes.ts";

/** Like `Omit<Whole, "data">`, but for each member of a union. */
type WithoutData<Whole> = Whole extends unknown ? Omit<Whole, "data"> : never;
type CodeEvaluation = Extract<Evaluation, { job: "javascript" | "jsonata" }>;

export async function runCode(
  context: NodeContext<unknown>,
  program: WithoutData<CodeEvaluation>,
): Promise<NodeResult> {
  const { job } = program;
  const code = job === "javascript" ? program.code : program.expression;
  const data = variables(context, (name) => mayRead(name, code, job));
  const result = await context.evaluate({ ...program, data });
  for (const line of result.log) context.log(line);
  if ("output" in result) return { output: result.output };
  const { error, message } = result;
  throw new Permanent(
    error === "code_failed" ? `The code failed: ${message}` : `The code ${message}.`,
    { code: error },
  );
}

/**
 * Returns the variables of a program, which are the same in every language. A large variable that the
 * program does not read is null, so that it is not sent to the sandbox.
 */
function variables(
  { input, scope }: Pick<NodeContext<unknown>, "input" | "scope">,
  isRead: (name: string) => boolean,
): MixedObject {
  const { trigger = null, nodes, item, index } = scope;
  const ifRead = (name: string, value: MixedJson) =>
    hasLarge(value) && !isRead(name) ? null : value;
  return {
    input: ifRead("input", input),
    trigger: ifRead("trigger", trigger),
    nodes: isRead("nodes") ? nodes : withoutLarge(nodes),
    ...(item === undefined ? {} : { item: ifRead("item", item) }),
    ...(index === undefined ? {} : { index }),
  };
}

/**
 * Omits large outputs. Even for a program that reads only `input`, `nodes` can contain a large output,
 * because the input is the output of another node.
 */
const withoutLarge = (nodes: MixedObject): MixedObject =>
  Object.values(nodes).some(hasLarge)
    ? Object.fromEntries(Object.entries(nodes).filter(([, output]) => !hasLarge(output)))
    : nodes;

/** Whether a value or one of its members is large. */
const hasLarge = (value: MixedJson | undefined): boolean =>
  isLarge(value) ||
  (typeof value === "object" && value !== null && Object.values(value).some(isLarge));

const isLarge = (value: unknown): boolean =>
  value instanceof LargeJson || (typeof value === "string" && value.length > LARGE_BYTES);
