import { expect, it } from "vitest";
import type { Json } from "../../json.ts";
import { testContext } from "../test-context.ts";
import { condition } from "./condition.ts";

const yes = { left: 1, op: "eq", right: "1" };
const no = { left: null, op: "exists" };

it.each<[Json[], string | undefined, string]>([
  [[yes], undefined, "true"],
  [[no], undefined, "false"],
  [[yes, no], undefined, "false"],
  [[yes, no], "all", "false"],
  [[yes, no], "any", "true"],
  [[no, no], "any", "false"],
])(
  "continues for the conditions %j with combine %s on the port %s",
  async (conditions, combine, port) => {
    const config = { conditions, ...(combine ? { combine } : {}) };
    expect(await condition.run(testContext({ config, input: "x" }))).toEqual({ port, output: "x" });
  },
);

it("rejects a glob that exceeds the maximum length", () => {
  const conditions = [yes, { left: "a", op: "glob", right: "*".repeat(1001) }];
  expect(condition.config.safeParse({ conditions }).error?.issues[0]).toMatchObject({
    path: ["conditions", 1, "right"],
    message: "must have at most 1000 characters if op is 'glob'",
  });
});
