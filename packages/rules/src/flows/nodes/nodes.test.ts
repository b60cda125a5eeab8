/** The requirements that every node type must meet. */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { isObject, type Json, type JsonObject } from "../../json.ts";
import { issuesOf } from "../issues.ts";
import { ERROR_PORT } from "../node-type.ts";
import { testContext } from "../test-context.ts";
import { nodeTypes } from "./index.ts";

it("registers every file that defines a node", () => {
  const read = (name: string) => readFileSync(join(import.meta.dirname, name), "utf8");
  const definitions = readdirSync(import.meta.dirname).filter(
    (name) => !name.endsWith(".test.ts") && read(name).includes("defineNode({"),
  );
  for (const name of definitions) expect(read("index.ts")).toContain(`from "./${name}"`);
  expect(nodeTypes.size).toBe(definitions.length);
});

// biome-ignore format: a list of values
const WRONG = [undefined, null, true, 0, -1.5, 1e99, Number.NaN, "", "x", "y".repeat(300_000), [], [null], [{}], [[]], {}, { x: null }, { type: "x" }, { "not a name": [] }];

/** Yields variants of a valid config. Each variant replaces one field or one nested value. */
function* wrongConfigs(shape: object, valid: JsonObject): Generator<object> {
  for (const field of new Set([...Object.keys(shape), ...Object.keys(valid), "noSuchField"]))
    for (const wrong of WRONG) yield { ...valid, [field]: wrong };
  for (const [field, value] of Object.entries(valid))
    for (const variant of variantsOf(value)) yield { ...valid, [field]: variant };
}

function* variantsOf(value: Json): Generator<unknown> {
  if (Array.isArray(value))
    for (const [index, item] of value.entries())
      for (const other of [...WRONG, ...variantsOf(item)]) yield value.with(index, other as Json);
  else if (isObject(value))
    for (const [name, item] of [...Object.entries(value), ["noSuchField", null] as const])
      for (const other of [...WRONG, ...variantsOf(item)]) yield { ...value, [name]: other };
}

describe.each([...nodeTypes])("%s", (type, definition) => {
  const { config, kind, sample, inPorts } = definition;

  it("has a title, a description and an icon", () => {
    expect(definition.type).toBe(type);
    expect(type).toMatch(/^[A-Z][A-Za-z]+$/);
    expect(definition.title).not.toBe("");
    expect(definition.description).toMatch(/\.$/);
    expect(definition.icon).toMatch(/^[A-Z][A-Za-z0-9]+$/);
  });

  it("has a config schema that converts to JSON Schema", () => {
    expect(z.toJSONSchema(config, { io: "input" })).toMatchObject({ type: "object" });
  });

  it("reports the maximum length of a string that exceeds it", () => {
    const { properties = {} } = z.toJSONSchema(config, { io: "input" });
    for (const [field, schema] of Object.entries(properties)) {
      const max = typeof schema === "object" ? schema.maxLength : undefined;
      if (max === undefined) continue;
      const { error } = config.safeParse({ ...sample.config, [field]: "y".repeat(max + 1) });
      const issues = error ? issuesOf(error) : [];
      expect(issues.map(({ path, message }) => `${path}: ${message}`)).toContain(
        `${field}: must have at most ${max} characters`,
      );
    }
  });

  it("has no input ports if it is a trigger, and no output ports if it is a result", () => {
    const out = definition.outPorts(sample.config) ?? [];
    expect(inPorts.length > 0).toBe(kind !== "trigger");
    expect(out.includes(ERROR_PORT)).toBe(kind !== "trigger" && kind !== "result");
    expect(out.filter((port) => port !== ERROR_PORT).length > 0).toBe(kind !== "result");
    expect(new Set(out).size).toBe(out.length);
    for (const port of Object.keys(definition.locals)) expect(out).toContain(port);
  });

  it("accepts its sample", () => {
    expect(config.safeParse(sample.config).error).toBeUndefined();
  });

  if (sample.result)
    it("returns the result of the sample", async () => {
      const { input = null, inputs = [] } = sample;
      const result = await definition.run(testContext({ config: sample.config, input, inputs }));
      expect(result).toEqual(sample.result);
      if ("port" in result) expect(definition.outPorts(sample.config)).toContain(result.port);
    });

  it("rejects an invalid config before it runs, and reports the path", async () => {
    const { error } = config.safeParse(sample.rejects.config);
    expect(error && issuesOf(error).map(({ path }) => path)).toContain(sample.rejects.path);
    await expect(
      definition.run(testContext({ config: sample.rejects.config })),
    ).rejects.toMatchObject({
      code: "invalid_config",
      message: expect.stringContaining(sample.rejects.path),
    });
  });

  it("never reports Zod's default messages for invalid values", () => {
    let issues = 0;
    for (const wrong of wrongConfigs(config.shape, sample.config)) {
      const { error } = config.safeParse(wrong);
      for (const { path, message } of error ? issuesOf(error) : []) {
        expect(message, path).not.toMatch(/Invalid|\bexpected|Unrecognized|Too (small|big)/);
        issues += 1;
      }
    }
    expect(issues).toBeGreaterThan(0);
  });

  it("rejects unknown fields", () => {
    expect(config.safeParse({ ...sample.config, noSuchField: 1 }).success).toBe(false);
  });
});
