/** How programs define and read settings. Flags override the environment, which overrides a file. */
import { z } from "zod";

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

export interface Origin {
  name: string;
  env: string;
  value: unknown;
  from: "flag" | "environment" | "file" | "default";
  secret: boolean;
}

export interface SettingsInput {
  flags: Record<string, string | boolean | undefined>;
  env: Record<string, string | undefined>;
  /** The parsed signalbox.config.json. */
  file: Record<string, unknown>;
}

/** The definitions of settings, by name. */
export type SettingDefinitions = Readonly<Record<string, Setting<unknown>>>;

/** Reads the values of the settings. `problems` has a message for each invalid value. */
export function readValues<Definitions extends SettingDefinitions>(
  definitions: Definitions,
  { flags, env, file }: SettingsInput,
): { values: ValuesOf<Definitions>; origins: Origin[]; problems: string[] } {
  const origins: Origin[] = [];
  const problems: string[] = [];
  const values: Record<string, unknown> = {};

  for (const [name, definition] of Object.entries(definitions)) {
    const { env: variable, flag, schema, secret = false } = definition;
    const [from, input] = firstDefined(
      ["flag", flag === undefined ? undefined : flags[flag]],
      ["environment", env[variable]?.trim() ? env[variable] : undefined],
      ["file", file[name]],
    );
    const parsed = schema.safeParse(input);
    if (parsed.success) values[name] = parsed.data;
    else {
      const where = {
        flag: `--${flag}`,
        environment: variable,
        file: `"${name}" in signalbox.config.json`,
        default: variable,
      }[from];
      problems.push(
        `${where} ${parsed.error.issues[0]?.message ?? "is invalid"}${secret ? "" : `, but is ${JSON.stringify(input)}`}.`,
      );
    }
    origins.push({ name, env: variable, value: values[name], from, secret });
  }
  return { values: values as ValuesOf<Definitions>, origins, problems };
}

export function firstDefined<From extends string>(
  ...candidates: [From, unknown][]
): [From | "default", unknown] {
  return candidates.find(([, value]) => value !== undefined) ?? ["default", undefined];
}

/**
 * An empty secret is an error: anyone can sign with it, and a hub that ignored it could accept unsigned
 * webhooks.
 */
export const emptySecret = (where: string) =>
  `${where} contains an empty secret. Set a value, or remove it.`;

/** Reads a secret for a command from the environment: other users could read a flag. */
export function readSecret(
  env: Record<string, string | undefined>,
  variable: string,
): string | undefined {
  const value = env[variable];
  if (!value) return undefined;
  if (!value.trim()) throw new SettingsError(emptySecret(variable));
  return value.trim();
}

/** A mistake in the settings; the message contains the fix. */
export class SettingsError extends Error {
  readonly code = "settings";
}
