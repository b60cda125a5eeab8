/**
 * Structural types of Zod 4 schemas. The author of a server may use another version of Zod than this
 * package, and the classes of two versions are not assignable to each other.
 */
import { z } from "zod";
import type { JsonObject } from "./json.ts";

export interface Issue {
  path: readonly PropertyKey[];
  message: string;
}

type ParseResult<Output> =
  | { success: true; data: Output; error?: undefined }
  | { success: false; error: { issues: readonly Issue[] } };

export interface Schema<Output = unknown, Input = unknown> {
  readonly _zod: { readonly output: Output; readonly input: Input };
  safeParse(value: unknown): ParseResult<Output>;
  safeParseAsync(value: unknown): Promise<ParseResult<Output>>;
  toJSONSchema?(options: object): object;
}

export interface ObjectSchema<Output = Record<string, unknown>> extends Schema<Output> {
  readonly shape: object;
}

export type OutputOf<Type extends Schema> = Type["_zod"]["output"];
export type InputOf<Type extends Schema> = Type["_zod"]["input"];

/** The names of the properties that the client may omit, such as those with a default. */
type OptionalNames<Input> = {
  [Name in keyof Input]-?: object extends Pick<Input, Name> ? Name : never;
}[keyof Input];

/** The params of a subscription. A param that the client may omit is optional, even with a default. */
export type ParamsOf<Type extends Schema> = Simplify<
  Omit<OutputOf<Type>, OptionalNames<InputOf<Type>>> &
    Partial<Pick<OutputOf<Type>, keyof OutputOf<Type> & OptionalNames<InputOf<Type>>>>
>;

type Simplify<Type> = { [Name in keyof Type]: Type[Name] };

export function jsonSchemaOf(schema: Schema, io: "input" | "output"): JsonObject {
  const options = { io, unrepresentable: "any" } as const;
  const json =
    schema.toJSONSchema?.(options) ?? z.toJSONSchema(schema as unknown as z.ZodType, options);
  const { $schema: _, ...jsonSchema } = json as { $schema?: string };
  return jsonSchema as JsonObject;
}

/** Returns, for example, `params.repo: Invalid input; params.number: …`. */
export const formatIssues = (root: string, issues: readonly Issue[]): string =>
  issues
    .map(({ path, message }) => `${[root, ...path.map(String)].join(".")}: ${message}`)
    .join("; ");
