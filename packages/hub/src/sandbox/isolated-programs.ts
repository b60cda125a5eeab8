/** The script that run-isolated.ts loads into QuickJS. The build bundles it with its dependencies. */
import "./isolated-globals.ts";
import { evaluateAuthorProgram } from "./author-programs.ts";

Object.assign(globalThis, {
  /** `program` is the JSON of an `AuthorProgram` without its data. Returns the JSON of its result. */
  evaluate: async (program: string, data: string): Promise<string> =>
    JSON.stringify(await evaluateAuthorProgram({ ...JSON.parse(program), data })),
});
