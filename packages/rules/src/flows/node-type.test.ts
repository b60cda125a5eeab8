import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Permanent } from "./errors.ts";
import { createRegistry, defineNode, nodeSettings } from "./node-type.ts";
import { testContext } from "./test-context.ts";

const spec = {
  type: "Double",
  title: "Double",
  description: "Doubles a number.",
  icon: "X",
  kind: "data" as const,
  config: z.strictObject({ number: z.number(), names: z.array(z.string()).default(["out"]) }),
  ports: { in: ["in"], out: ({ names }: { names: string[] }) => names },
  sample: { config: {}, result: { output: 0 }, rejects: { config: {}, path: "number" } },
  run: ({ config }: { config: { number: number } }) => ({ output: config.number * 2 }),
};
const double = defineNode(spec);

describe("a node type", () => {
  it("runs with its config", async () => {
    expect(await double.run(testContext({ config: { number: 4 } }))).toEqual({ output: 8 });
  });

  it("fails permanently for an invalid config, and reports the path", async () => {
    const failed = double.run(testContext({ config: { number: "4", more: 1 } }));
    await expect(failed).rejects.toBeInstanceOf(Permanent);
    await expect(failed).rejects.toMatchObject({
      code: "invalid_config",
      message: "number: must be a number, but is a string; more: unexpected field: remove it",
      details: expect.arrayContaining([expect.objectContaining({ path: "number" })]),
    });
  });

  it("derives its ports from the config, and adds `error`", () => {
    expect(double.outPorts({ number: 1, names: ["a", "b"] })).toEqual(["a", "b", "error"]);
    expect(double.outPorts({ number: "no" })).toBeUndefined();
  });

  it("that is a trigger returns its input, and has no port `error` and no templates", async () => {
    const { run: _, ...rest } = spec;
    const trigger = defineNode({ ...rest, kind: "trigger", ports: { in: [], out: ["out"] } });
    const context = testContext({ config: { number: 1 }, input: { a: 1 } });
    expect(await trigger.run(context)).toEqual({ output: { a: 1 } });
    expect(trigger.outPorts({})).toEqual(["out"]);
    expect(trigger.rawFields).toEqual([[]]);
  });

  it("rejects a config field `settings`, and invalid paths", () => {
    expect(() => defineNode({ ...spec, config: z.object({ settings: z.any() }) as never })).toThrow(
      "settings",
    );
    expect(() => defineNode({ ...spec, secretFields: ["a..b"] })).toThrow("a..b is not a path");
  });

  it("is registered by its type", () => {
    expect(createRegistry([double]).get("Double")).toBe(double);
  });
});

describe("the settings of every node", () => {
  it("are optional", () => expect(nodeSettings.parse({})).toEqual({}));

  it("have a default backoff", () => {
    expect(nodeSettings.parse({ retries: { attempts: 3 } })).toEqual({
      retries: { attempts: 3, backoffMs: 1000 },
    });
  });

  it.each([
    { retries: { attempts: 0 } },
    { retries: { attempts: 1.5 } },
    { timeoutMs: 0 },
    { continueOnError: "yes" },
    { timeout: 5 },
  ])("reject %j", (settings) => expect(nodeSettings.safeParse(settings).success).toBe(false));
});
