import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../json.ts";
import { issuesOf } from "../issues.ts";
import { testContext } from "../test-context.ts";
import { wait } from "./wait.ts";

const now = () => Date.parse("2026-01-31T09:00:00Z");
const run = (config: JsonObject, overrides = {}) =>
  wait.run(testContext({ config, input: { order: 1 }, now, ...overrides }));

describe("a wait", () => {
  it("lasts a number of seconds, or until a time", async () => {
    expect(await run({ seconds: 1.5 })).toEqual({ wait: { until: now() + 1500 } });
    const until = "2026-01-31T12:00:00+01:00";
    expect(await run({ until })).toEqual({ wait: { until: now() + 2 * 3600_000 } });
  });

  it.each([{ seconds: 0 }, { until: "2020-01-01T00:00:00Z" }])(
    "of zero, or until a past time, continues immediately: %j",
    async (config) => expect(await run(config)).toEqual({ output: { order: 1 } }),
  );

  it("returns its input when it is resumed", async () => {
    const resumed = { state: null };
    expect(await run({ seconds: 90 }, { resumed })).toEqual({ output: { order: 1 } });
  });

  it.each<[JsonObject, string]>([
    [{}, "seconds"],
    [{ seconds: 1, until: "2026-01-31T09:00:00Z" }, "seconds"],
    [{ seconds: -1 }, "seconds"],
    [{ seconds: 40_000_000 }, "seconds"],
    [{ seconds: "soon" }, "seconds"],
    [{ until: "2026-01-31" }, "until"],
  ])("with the config %j is rejected at the path %s", (config, path) => {
    const { error } = wait.config.safeParse(config);
    expect(error && issuesOf(error).map((issue) => issue.path)).toEqual([path]);
  });

  it("until a time more than a year ahead fails when it runs", async () => {
    await expect(run({ until: "2036-01-31T09:00:00Z" })).rejects.toMatchObject({
      code: "invalid_config",
      message: expect.stringContaining("until"),
    });
  });
});
