import { parseArgs } from "node:util";
import { definitions, parseNumber, type SettingName, SettingsError } from "../settings.ts";

/** Exit codes: 0 done, 1 it did not work, 2 the command line or a setting is wrong. */
export class UsageError extends Error {}

/** The command is right, but what it needs is not there; its message says what. */
export class Failure extends Error {}

type Flags = Record<string, string | boolean | undefined>;

export interface Command {
  name: string;
  /** After the name, in the first line of its help. */
  usage: string;
  summary: string;
  details?: string;
  options: Record<
    string,
    { type: "string" | "boolean"; help: string; value?: string; short?: string }
  >;
  /** What it reads of the settings: their flags are taken, and its help shows them. */
  settings: readonly (SettingName | "secrets")[];
  /** Takes the flags of all other settings too. */
  takesAllSettings?: true;
  run(args: { positionals: string[]; flags: Flags }): Promise<void>;
}

export interface Parsed {
  positionals: string[];
  flags: Flags;
}

export const allSettings = Object.keys(definitions) as SettingName[];

export function parse(command: Command, argv: string[]): Parsed {
  const names: readonly string[] = command.takesAllSettings ? allSettings : command.settings;
  const options = {
    help: { type: "boolean" as const, short: "h" },
    ...Object.fromEntries(
      Object.entries(definitions).flatMap(([name, setting]) =>
        "flag" in setting && names.includes(name)
          ? [[setting.flag, { type: name === "allowUnsigned" ? "boolean" : "string" }]]
          : [],
      ),
    ),
    ...command.options,
  };
  try {
    const { values, positionals } = parseArgs({
      args: argv,
      options: Object.fromEntries(
        Object.entries(options).map(
          ([name, { type, short }]: [string, { type: "string" | "boolean"; short?: string }]) => [
            name,
            short ? { type, short } : { type },
          ],
        ),
      ),
      allowPositionals: true,
    });
    return { positionals, flags: values as Flags };
  } catch (error) {
    throw new UsageError(`${(error as Error).message} See \`signalbox ${command.name} --help\`.`);
  }
}

export const text = (value: string | boolean | undefined): string | undefined =>
  typeof value === "string" ? value : undefined;

/** Arguments that nothing reads are a mistake; ignoring them would hide it. */
export function refuseMore(rest: readonly string[]): void {
  if (rest.length > 0) throw new UsageError(`"${rest.join(" ")}" is too much.`);
}

/** The number that a flag was given, within its bounds. */
export function numberOf(
  flags: Flags,
  name: string,
  allows: (value: number) => boolean,
  words: string,
): number | undefined {
  const given = text(flags[name]);
  if (given === undefined) return undefined;
  const value = parseNumber(given);
  if (value === undefined || !allows(value)) throw new UsageError(`--${name} must be ${words}.`);
  return value;
}

/** The values that a flag was given, separated by commas. */
export function listOf(flags: Flags, name: string): string[] | undefined {
  const values = text(flags[name])
    ?.split(",")
    .map((value) => value.trim());
  if (values?.includes("")) throw new UsageError(`--${name} must not be empty.`);
  return values;
}

export const isUserError = (error: unknown): error is Error =>
  error instanceof UsageError ||
  error instanceof SettingsError ||
  (error instanceof Error &&
    "code" in error &&
    (error.code === "database_too_new" || error.code === "cannot_unseal"));

/** Columns lined up, for people. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = rows.reduce<number[]>(
    (most, row) => row.map((cell, at) => Math.max(most[at] ?? 0, cell.length)),
    [],
  );
  return rows
    .map((row) =>
      row
        .map((cell, at) => (at === row.length - 1 ? cell : cell.padEnd(widths[at] ?? 0)))
        .join("  "),
    )
    .join("\n");
}

export const print = (line = ""): void => void process.stdout.write(`${line}\n`);
