import { expect, it } from "vitest";
import { z } from "zod";
import { issuesOf } from "./issues.ts";
import { textSchema } from "./text-schema.ts";

const messagesFor = (schema: z.ZodType, value: unknown) => {
  const { error } = z.strictObject({ a: schema }).safeParse({ a: value });
  return error && issuesOf(error).map(({ path, message }) => `${path}: ${message}`);
};
const form = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("x"), v: z.string() }),
  z.strictObject({ type: z.literal("y") }),
]);
const status = z.union([z.int().min(100), z.string().regex(/^\d+$/, "must be a status")]);

it.each<[z.ZodType, unknown, string[]]>([
  [z.string(), undefined, ["a: is missing: it must be a string"]],
  [z.string(), 1, ["a: must be a string, but is a number"]],
  [z.int(), 1.5, ["a: must be an integer, but is a number"]],
  [z.number(), Number.NaN, ["a: must be a number, but is NaN"]],
  [z.boolean(), null, ["a: must be a boolean, but is null"]],
  [z.record(z.string(), z.number()), [], ["a: must be an object, but is an array"]],
  [z.number().min(2), 1, ["a: must be at least 2"]],
  [z.number().lt(2), 2, ["a: must be less than 2"]],
  [z.string().min(1), "", ["a: must have at least 1 character"]],
  [z.array(z.string()).max(0), ["x"], ["a: must have at most 0 items"]],
  [z.array(z.string()), [1], ["a[0]: must be a string, but is a number"]],
  [z.enum(["x", "y"]), "z", ['a: must be one of "x", "y"']],
  [z.literal("x"), "z", ['a: must be "x"']],
  [z.union([z.string(), z.number()]), true, ["a: must be a string or a number, but is a boolean"]],
  [z.json(), undefined, ["a: is missing: it must be JSON"]],
  [form, { type: "z" }, ['a.type: must be one of "x", "y"']],
  [
    form,
    { type: "x", v: 1, w: 2 },
    ["a.v: must be a string, but is a number", "a.w: unexpected field: remove it"],
  ],
  [status, "4xx", ["a: must be a status"]],
  [status, 4, ["a: must be at least 100"]],
  [
    z.record(z.string().regex(/^x/, "must begin with x"), z.json()),
    { y: 1 },
    ["a.y: must begin with x"],
  ],
  [z.iso.datetime(), "x", ["a: must match the format datetime"]],
  [z.string().regex(/^x$/), "y", ["a: must match the pattern /^x$/"]],
  [z.string("must be a URL"), 1, ["a: must be a URL"]],
  [textSchema("must be a URL").max(2), 1, ["a: must be a URL"]],
  [textSchema("must be a URL").max(2), "abc", ["a: must have at most 2 characters"]],
])("reports the value $1 with the messages $2", (schema, value, messages) => {
  expect(messagesFor(schema, value)).toEqual(messages);
});
