import { createRequire } from "node:module";
import { expect, it } from "vitest";
import { githubTypes } from "./github.ts";

const examples = createRequire(import.meta.url)(
  "@octokit/webhooks-examples/api.github.com/index.json",
) as { name: string }[];

it("lists every type of GitHub's examples, in alphabetical order", () => {
  const known = new Set(githubTypes);
  expect(examples.map(({ name }) => name).filter((name) => !known.has(name))).toEqual(["ping"]);
  expect(githubTypes).toEqual([...known].sort());
});
