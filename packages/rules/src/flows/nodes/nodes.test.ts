/** What every node type must satisfy. */
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

/** A valid config with other values in each of its fields, and in each value inside of them. */
function* wrongIn(shape: object, good: JsonObject): Generator<object> {
  for (const field of new Set([...Object.keys(shape), ...Object.keys(good), "noSuchField"]))
    for (const wrong of WRONG) yield { ...good, [field]: wrong };
  for (const [field, value] of Object.entries(good))
    for (const inner of changedWithin(value)) yield { ...good, [field]: inner };
}

function* changedWithin(value: Json): Generator<unknown> {
  if (Array.isArray(value))
    for (const [at, item] of value.entries())
      for (const other of [...WRONG, ...changedWithin(item)]) yield value.with(at, other as Json);
  else if (isObject(value))
    for (const [name, item] of [...Object.entries(value), ["noSuchField", null] as const])
      for (const other of [...WRONG, ...changedWithin(item)]) yield { ...value, [name]: other };
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

  it("reports the limit for a string that is too long", () => {
    const { properties = {} } = z.toJSONSchema(config, { io: "input" });
    for (const [field, schema] of Object.entries(properties)) {
      const most = typeof schema === "object" ? schema.maxLength : undefined;
      if (most === undefined) continue;
      const { error } = config.safeParse({ ...sample.config, [field]: "y".repeat(most + 1) });
      const said = error ? issuesOf(error).map(({ path, message }) => `${path}: ${message}`) : [];
      expect(said).toContain(`${field}: must have at most ${most} characters`);
    }
  });

  it("has ports: none in for a trigger, none out for a result", () => {
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

  it("rejects an invalid config by path, before it runs", async () => {
    const { error } = config.safeParse(sample.rejects.config);
    expect(error && issuesOf(error).map(({ path }) => path)).toContain(sample.rejects.path);
    await expect(
      definition.run(testContext({ config: sample.rejects.config })),
    ).rejects.toMatchObject({
      code: "invalid_config",
      message: expect.stringContaining(sample.rejects.path),
    });
  });

  it("reports invalid values with our messages, never with those of Zod", () => {
    const said = new Set<string>();
    for (const wrong of wrongIn(config.shape, sample.config)) {
      const { error } = config.safeParse(wrong);
      for (const { path, message } of error ? issuesOf(error) : []) {
        expect(message, path).not.toMatch(/Invalid|\bexpected|Unrecognized|Too (small|big)/);
        said.add(message);
      }
    }
    expect(said.size).toBeGreaterThan(0);
  });

  it("rejects unknown fields", () => {
    expect(config.safeParse({ ...sample.config, noSuchField: 1 }).success).toBe(false);
  });
});
