import { parseArgs } from "node:util";
import { parseNumber, type SettingDefinitions } from "@signalbox/rules/settings.ts";

/** The command line is invalid. Exit codes: 0 success, 1 failure, 2 invalid command line or setting. */
export class UsageError extends Error {}

/** The command line is valid, but the command failed. The message explains the failure to the user. */
export class CommandFailed extends Error {}

export type Flags = Record<string, string | boolean | undefined>;

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
  /** The settings, or groups of settings, that the command reads: it accepts their flags, and its help lists them. */
  settings: readonly string[];
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

/** A program with commands. */
export interface Cli {
  name: string;
  /** Follows the name and the version in the overview. */
  title: string;
  version: string;
  /** In the order of the help. */
  commands: readonly Command[];
  /** The command that runs if none is named. */
  defaultCommand?: Command;
  settings: SettingDefinitions;
  /** The settings whose flags take no value. */
  booleanSettings?: readonly string[];
  /** Further settings that commands can name, as rows of the help: a variable and its meaning. */
  settingGroups?: Readonly<Record<string, readonly (readonly [term: string, text: string])[]>>;
  /** The codes of errors that the user must correct. The exit code is then 2. */
  userErrors?: readonly string[];
  /** True for a failure that its message explains, so that no stack is printed. */
  isExplained?(error: unknown): error is Error;
}

type Option = Pick<Command["options"][string], "type" | "short" | "multiple">;

export function parse(
  command: Command,
  argv: string[],
  { settings, booleanSettings = [] }: Pick<Cli, "settings" | "booleanSettings">,
): Parsed {
  const separator = command.takesCommand ? argv.indexOf("--") : -1;
  const options: Record<string, Option> = {
    help: { type: "boolean", short: "h" },
    ...Object.fromEntries(
      Object.entries(settings).flatMap(([name, { flag }]): [string, Option][] =>
        flag !== undefined && (command.acceptsAllSettings || command.settings.includes(name))
          ? [[flag, { type: booleanSettings.includes(name) ? "boolean" : "string" }]]
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
      : tokens
          .map((token) => problemOf(token, options, settings))
          .find((text) => text !== undefined);
  if (problem !== undefined)
    throw new UsageError(`${problem} See \`npx @signalbox/cli ${command.name} --help\`.`);
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

function problemOf(
  token: ArgumentToken,
  options: Record<string, Option>,
  settings: SettingDefinitions,
): string | undefined {
  if (token.kind !== "option") return undefined;
  const { name, rawName, value, inlineValue } = token;
  if (!Object.hasOwn(options, name))
    return describeUnknownFlag(name, rawName, Object.keys(options), settings);
  const isBoolean = options[name]?.type === "boolean";
  if (isBoolean) return value === undefined ? undefined : `${rawName} takes no value.`;
  if (value === undefined) return `${rawName} needs a value.`;
  // `--port --json` is more likely a forgotten value than a value that looks like a flag.
  return !inlineValue && value.length > 1 && value.startsWith("-")
    ? `${rawName} needs a value. If the value is ${value}, write ${rawName}=${value}.`
    : undefined;
}

function describeUnknownFlag(
  name: string,
  rawName: string,
  knownNames: readonly string[],
  settings: SettingDefinitions,
): string {
  const secretSetting = Object.entries(settings).find(
    ([setting, { flag }]) => flag === undefined && kebabCase(setting) === name,
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

/**
 * Returns the known word that the user most likely meant. A word is similar if it differs in at most a
 * third of its characters, or if the input is its beginning. Returns undefined if no word is similar.
 */
export function findClosest(input: string, knownWords: readonly string[]): string | undefined {
  const similarWords = knownWords
    .map((word) => ({ word, distance: editDistance(input, word) }))
    .filter(({ word, distance }) => distance <= Math.max(1, Math.floor(word.length / 3)))
    .toSorted((a, b) => a.distance - b.distance);
  return (
    similarWords[0]?.word ?? knownWords.find((word) => input.length > 2 && word.startsWith(input))
  );
}

/** Computes the edit distance. Swapping two adjacent characters counts as one edit. */
function editDistance(a: string, b: string): number {
  let rowBeforeLast: number[] = [];
  let lastRow = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const currentRow = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const isSame = a[row - 1] === b[column - 1];
      const edits = [
        (lastRow[column] as number) + 1,
        (currentRow[column - 1] as number) + 1,
        (lastRow[column - 1] as number) + (isSame ? 0 : 1),
      ];
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1])
        edits.push((rowBeforeLast[column - 2] as number) + 1);
      currentRow.push(Math.min(...edits));
    }
    rowBeforeLast = lastRow;
    lastRow = currentRow;
  }
  return lastRow[b.length] as number;
}
