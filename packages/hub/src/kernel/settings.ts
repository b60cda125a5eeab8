/** How a capability defines its settings: their names, their help and their schemas. */
import { z } from "zod";
import { parseNetworks } from "./http/addresses.ts";

export const DAY_MS = 24 * 60 * 60 * 1000;

export interface Setting<Value> {
  env: string;
  /** Undefined for secrets: other users of a machine can read the flags of its processes. */
  flag?: string;
  help: string;
  secret?: boolean;
  schema: z.ZodType<Value>;
}

/** The values of settings, by name. */
export type ValuesOf<Definitions> = {
  [Name in keyof Definitions]: Definitions[Name] extends Setting<infer Value> ? Value : never;
};

export const setting = <Value>(definition: Setting<Value>): Setting<Value> => definition;

/** Accepts decimal numbers only: `Number` would also accept "", " ", "0x10" and "1e9". */
export const parseNumber = (text: string): number | undefined =>
  /^\s*-?\d+(\.\d+)?\s*$/.test(text) ? Number(text) : undefined;

/** Accepts numbers, and texts of the environment or the command line that are numbers. */
const numberOrText = (schema: z.ZodNumber) =>
  z.preprocess(
    (value) => (typeof value === "string" ? (parseNumber(value) ?? value) : value),
    schema,
  );
const number = z.number("must be a number");
export const integer = (min: number, max: number) =>
  numberOrText(
    number
      .int("must be a whole number")
      .min(min, `must be at least ${min}`)
      .max(max, `must be at most ${max}`),
  );
export const days = numberOrText(
  number
    .positive("must be above 0; for less than a day use a fraction such as 0.5")
    .max(36_500, "must be at most 36500"),
);
export const nonEmpty = z.string("must be a string").trim().min(1, "must not be empty");
export const url = z.url({ protocol: /^https?$/, error: "must be an http(s) URL" });
export const choice = <const Values extends readonly [string, ...string[]]>(values: Values) =>
  z.enum(values, `must be one of ${values.join(", ")}`);
export const boolean = z.preprocess(
  (value) =>
    value === "" || value === "0" || value === "false"
      ? false
      : value === "1" || value === "true"
        ? true
        : value,
  z.boolean("must be true or false"),
);
export const textList = z.preprocess(
  (value) =>
    typeof value === "string"
      ? value
          .split(",")
          .map((part) => part.trim())
          .filter(Boolean)
      : value,
  z.array(z.string()),
);

export function areNetworks(texts: readonly string[]): boolean {
  try {
    parseNetworks(texts);
    return true;
  } catch {
    return false;
  }
}

/** A mistake in the settings; the message contains the fix. */
export class SettingsError extends Error {
  readonly code = "settings";
}
