import { parseArgs } from "node:util";
import { SettingsError } from "../settings.ts";

/** Exit codes: 0 done, 1 it did not work, 2 the command line or a setting is wrong. */
export class UsageError extends Error {}

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
  /** Also takes the settings as flags. */
  takesSettings: boolean;
  run(args: { positionals: string[]; flags: Flags }): Promise<void>;
}

export interface Parsed {
  positionals: string[];
  flags: Flags;
}

export function parse(command: Command, argv: string[], settings: Command["options"]): Parsed {
  const options = {
    help: { type: "boolean" as const, short: "h" },
    ...(command.takesSettings ? settings : {}),
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
