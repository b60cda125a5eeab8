/** Tests how TRIGGER_LIST describes params, and how TRIGGER_CONFIGURE parses them. */
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { describe, expect, it, onTestFinished } from "vitest";
import { z } from "zod";
import { describeTrigger } from "./describe-trigger.ts";
import { parseParams } from "./parse-params.ts";

const level = z.enum(["low", "high"]).describe("How much.");

describe("TRIGGER_LIST", () => {
  it.each([
    ["required", level, undefined],
    ["optional", level.optional(), undefined],
    ["default", level.default("low"), "low"],
    ["nullable", level.nullable(), undefined],
    ["nullish with a default", level.nullish().default("high"), "high"],
    [
      "described after optional()",
      z.enum(["low", "high"]).optional().describe("How much."),
      undefined,
    ],
  ])("keeps the values and the description of a param that is %s", (_, schema, defaultValue) => {
    const { paramsSchema } = describeTrigger({
      type: "t",
      description: "",
      params: z.object({ level: schema }),
    });
    expect(paramsSchema.level).toEqual({
      type: "string",
      description: "How much.",
      enum: ["low", "high"],
      ...(defaultValue ? { default: defaultValue } : {}),
    });
  });

  it("describes all params as strings, and adds the full JSON Schema", () => {
    const entry = describeTrigger({
      type: "t",
      title: "T",
      description: "Fires.",
      params: z.object({
        repo: z.string().describe("owner/name"),
        count: z.number().int().min(1).default(3),
        draft: z.boolean().optional(),
        size: z.union([z.literal(1), z.literal(2)]).optional(),
      }),
      payload: z.object({ repo: z.string(), at: z.string().default("now") }),
      sample: { repo: "a/b" },
    });
    expect(entry).toMatchObject({
      type: "t",
      title: "T",
      description: "Fires.",
      paramsSchema: {
        repo: { type: "string", description: "owner/name" },
        count: { type: "string", default: "3" },
        draft: { type: "string", enum: ["true", "false"] },
        size: { type: "string", enum: ["1", "2"] },
      },
      inputSchema: {
        type: "object",
        required: ["repo"],
        properties: { count: { type: "integer", minimum: 1, default: 3 } },
      },
      payloadSchema: { type: "object", required: ["repo", "at"] },
      sample: { repo: "a/b" },
    });
  });

  it("lists a trigger without params", () => {
    expect(describeTrigger({ type: "t", description: "Fires." })).toEqual({
      type: "t",
      description: "Fires.",
      paramsSchema: {},
      inputSchema: { type: "object", properties: {} },
      omittedParams: "any",
    });
  });
});

describe("TRIGGER_CONFIGURE", () => {
  const schema = z.object({
    repo: z.string(),
    count: z.number().int().optional(),
    draft: z.boolean().nullable().optional(),
    level: level.default("low"),
    size: z.union([z.literal(1), z.literal(2)]).optional(),
  });
  const parse = (params: unknown) => parseParams("t", schema, params);

  it("converts strings where the schema requires numbers and booleans", async () => {
    expect(await parse({ repo: "123", count: "5", draft: "true", size: "2" })).toEqual({
      repo: "123",
      count: 5,
      draft: true,
      size: 2,
    });
  });

  it("converts numbers where the schema requires strings", async () => {
    expect(await parse({ repo: 123 })).toEqual({ repo: "123" });
  });

  it("removes blank optional params", async () => {
    expect(await parse({ repo: "a", count: "", draft: " ", level: "" })).toEqual({ repo: "a" });
  });

  it.each([
    [{}, "params.repo: "],
    [{ repo: "a", count: "many" }, "params.count: "],
    [{ repo: "a", count: "1.5" }, "params.count: "],
    [{ repo: "a", level: "middle" }, "params.level: "],
    [{ repo: "a", draft: "yes" }, "params.draft: "],
    ["text", "must be an object"],
  ])("rejects %j and names the problem", async (params, message) => {
    await expect(parse(params)).rejects.toMatchObject({
      code: "bad_params",
      message: expect.stringContaining(message),
    });
  });

  it("ignores params that are not declared, because clients may filter by them", async () => {
    expect(await parse({ repo: "a", "issue.title": "x" })).toEqual({ repo: "a" });
    expect(await parseParams("t", undefined, { repo: "a" })).toEqual({});
  });
});

/** Imports a second copy of Zod, as a server has it that depends on another version. */
async function importOtherZod(): Promise<typeof z> {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-zod-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  cpSync(dirname(fileURLToPath(import.meta.resolve("zod"))), folder, { recursive: true });
  return (await import(pathToFileURL(join(folder, "index.js")).href)).z;
}

it("accepts schemas of another copy of Zod", async () => {
  const otherZod = await importOtherZod();
  expect(otherZod.ZodObject).not.toBe(z.ZodObject);
  const params = otherZod.object({ n: otherZod.number().default(1).describe("How many.") });
  const { paramsSchema, inputSchema } = describeTrigger({ type: "t", description: "", params });
  expect(paramsSchema).toEqual({ n: { type: "string", description: "How many.", default: "1" } });
  expect(inputSchema).toMatchObject({ type: "object" });
  expect(await parseParams("t", params, { n: "7" })).toEqual({ n: 7 });
});
