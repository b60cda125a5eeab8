/** The script that run-isolated.ts loads into QuickJS. The build bundles it with its dependencies. */

import "./isolated-globals.ts";

import { onEachResult } from "@signalbox/rules/match/expression.ts";
import { evaluateAuthorProgram } from "./author-programs.ts";
import { spendTime } from "./isolated-globals.ts";

/** Operators such as `<` and `&` compare and copy texts in one step, faster than built-in functions. */
const OPERATOR_SPEED = 5;
onEachResult((result) => {
  if (typeof result === "string") spendTime(result.length / OPERATOR_SPEED);
});

Object.assign(globalThis, {
  /** `program` is the JSON of an `AuthorProgram` without its data. Returns the JSON of its result. */
  evaluate: async (program: string, data: string): Promise<string> =>
    JSON.stringify(await evaluateAuthorProgram({ ...JSON.parse(program), data })),
});
