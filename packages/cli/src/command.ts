import { parseArgs } from "node:util";
import { parseNumber, SettingsError } from "@signalbox/rules/settings.ts";
import { definitions, type SettingName } from "../../hub/src/settings.ts";
import { findClosest } from "./find-closest.ts";

/** The command line is invalid. Exit codes: 0 success, 1 failure, 2 invalid command line or setting. */
export class UsageError extends Error {}

/** The command line is valid, but the command failed. The message explains the failure to the user. */
export class CommandFailed extends Error {}

type Flags = Record<string, string | boolean | undefined>;

export interface Command {
  name: string;
  /** The arguments, as the first line of the help shows them. */
  usage: string;
  summary: string;
  details?: string;
  /** A command line, on its own line in the help. */
  example?: string;
  options: Record<
    string,
    {
      type: "string" | "boolean";
      help: string;
      /** The placeholder of the value in the help. */
      value?: string;
      short?: string;
      /** Can be given several times; see `Parsed.lists`. */
      multiple?: true;
    }
  >;
  /** Takes the command line of another program after `--`, which is required unless "optional". */
  takesCommand?: true | "optional";
  /** The settings that the command reads: it accepts their flags, and its help lists them. */
  settings: readonly (SettingName | "secrets")[];
  /** Also accepts the flags of all other settings. */
  acceptsAllSettings?: true;
  run(args: Parsed): Promise<void>;
}

export interface Parsed {
  positionals: string[];
  flags: Flags;
  /** The values of the flags that can be given several times. */
  lists: Record<string, string[]>;
  /** The arguments after `--`; undefined if there is no `--`. */
  command: string[] | undefined;
}

export const allSettings = Object.keys(definitions) as SettingName[];

/** The flags of these settings take no value. */
export const isBooleanSetting = (name: string): boolean =>
  name === "allowUnsigned" || name === "acceptLostKey";

type Option = Pick<Command["options"][string], "type" | "short" | "multiple">;

export function parse(command: Command, argv: string[]): Parsed {
  const separator = command.takesCommand ? argv.indexOf("--") : -1;
  const settingNames: readonly string[] = command.acceptsAllSettings
    ? allSettings
    : command.settings;
  const options: Record<string, Option> = {
    help: { type: "boolean", short: "h" },
    ...Object.fromEntries(
      Object.entries(definitions).flatMap(([name, setting]): [string, Option][] =>
        "flag" in setting && settingNames.includes(name)
          ? [[setting.flag, { type: isBooleanSetting(name) ? "boolean" : "string" }]]
          : [],
      ),
    ),
    ...command.options,
  };
  const { values, positionals, tokens } = parseArgs({
    args: separator === -1 ? argv : argv.slice(0, separator),
    options: Object.fromEntries(
      Object.entries(options).map(([name, { type, short, multiple = false }]) => [
        name,
        { type, multiple, ...(short && { short }) },
      ]),
    ),
    allowPositionals: true,
    strict: false,
    tokens: true,
  });
  const problem =
    command.takesCommand === true && separator === -1 && positionals.length > 0
      ? `Write -- before the command to run: -- ${positionals[0]} ….`
      : tokens.map((token) => problemOf(token, options)).find((text) => text !== undefined);
  if (problem !== undefined)
    throw new UsageError(`${problem} See \`npx signalbox ${command.name} --help\`.`);
  const entries = Object.entries(values);
  const isList = ([, value]: [string, unknown]) => Array.isArray(value);
  return {
    positionals,
    flags: Object.fromEntries(entries.filter((entry) => !isList(entry))) as Flags,
    lists: Object.fromEntries(entries.filter(isList)) as Record<string, string[]>,
    command: separator === -1 ? undefined : argv.slice(separator + 1),
  };
}

type ArgumentToken = NonNullable<ReturnType<typeof parseArgs>["tokens"]>[number];

function problemOf(token: ArgumentToken, options: Record<string, Option>): string | undefined {
  if (token.kind !== "option") return undefined;
  const { name, rawName, value, inlineValue } = token;
  if (!Object.hasOwn(options, name))
    return describeUnknownFlag(name, rawName, Object.keys(options));
  const isBoolean = options[name]?.type === "boolean";
  if (isBoolean) return value === undefined ? undefined : `${rawName} takes no value.`;
  if (value === undefined) return `${rawName} needs a value.`;
  // `--port --json` is more likely a forgotten value than a value that looks like a flag.
  return !inlineValue && value.length > 1 && value.startsWith("-")
    ? `${rawName} needs a value. If the value is ${value}, write ${rawName}=${value}.`
    : undefined;
}

function describeUnknownFlag(name: string, rawName: string, knownNames: readonly string[]): string {
  const secretSetting = Object.entries(definitions).find(
    ([setting, definition]) => !("flag" in definition) && kebabCase(setting) === name,
  );
  if (secretSetting)
    return `There is no flag ${rawName}, because other users can read a command line: set ${secretSetting[1].env} in the environment.`;
  const similar = findClosest(name, knownNames);
  return `Unknown flag ${rawName}.${similar === undefined ? "" : ` Did you mean --${similar}?`}`;
}

const kebabCase = (name: string) => name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);

/** Returns the value of a string flag; undefined if the flag is not given. */
export const asString = (value: string | boolean | undefined): string | undefined =>
  typeof value === "string" ? value : undefined;

/** Returns the action with this name. `usage` lists the actions with their arguments, for the error. */
export function actionOf<Action>(
  actions: Record<string, Action>,
  name: string | undefined,
  usage: string,
): Action {
  const action = name !== undefined && Object.hasOwn(actions, name) ? actions[name] : undefined;
  if (action !== undefined) return action;
  throw new UsageError(
    name === undefined
      ? `Missing action: ${usage}.`
      : `Unknown action "${name}". Known actions: ${usage}.`,
  );
}

export function assertNoMoreArguments(extraArguments: readonly string[]): void {
  if (extraArguments.length > 0)
    throw new UsageError(`Unexpected argument "${extraArguments.join(" ")}".`);
}

/** Returns the number in a flag. `expected` completes the error "--flag must be …". */
export function numberOf(
  flags: Flags,
  name: string,
  isValid: (value: number) => boolean,
  expected: string,
): number | undefined {
  const text = asString(flags[name]);
  if (text === undefined) return undefined;
  const value = parseNumber(text);
  if (value === undefined || !isValid(value))
    throw new UsageError(`--${name} must be ${expected}, but is "${text}".`);
  return value;
}

/** Returns the comma-separated values in a flag. */
export function listOf(flags: Flags, name: string): string[] | undefined {
  const values = asString(flags[name])
    ?.split(",")
    .map((value) => value.trim());
  if (values?.includes("")) throw new UsageError(`--${name} must not contain an empty value.`);
  return values;
}

/** True for errors that the user must correct, such as an invalid setting. The exit code is then 2. */
export const isUserError = (error: unknown): error is Error =>
  error instanceof UsageError ||
  error instanceof SettingsError ||
  (error instanceof Error &&
    "code" in error &&
    ["cannot_unseal", "github_app_key"].includes(String(error.code)));

/** Formats rows with aligned columns. */
export function table(rows: readonly (readonly string[])[]): string {
  const widths = rows.reduce<number[]>(
    (widest, row) => row.map((cell, at) => Math.max(widest[at] ?? 0, cell.length)),
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
