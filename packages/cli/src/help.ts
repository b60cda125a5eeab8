/** Formats the text of `--help`: a command's options, and the settings that it reads. */
import type { Setting } from "@signalbox/rules/settings.ts";
import { type Cli, type Command, table } from "./command.ts";
import { bold } from "./style.ts";
import { wrap } from "./text-layout.ts";

export function formatOverview({ name, version, title, commands, defaultCommand }: Cli): string {
  return [
    `${bold(name)} ${version}, ${title}`,
    "",
    `Usage: ${name} COMMAND [options]`,
    "",
    table(commands.map(({ name, summary }) => [`  ${name}`, summary])),
    "",
    `\`npx ${name} COMMAND --help\` shows the details.${defaultCommand ? ` Without a command, \`${defaultCommand.name}\` runs.` : ""}`,
  ].join("\n");
}

type SettingsOfCli = Pick<Cli, "name" | "settings" | "booleanSettings" | "settingGroups">;

export function formatHelp(command: Command, cli: SettingsOfCli): string {
  const { name, usage, summary, details = "", example = "", options, settings } = command;
  // Before the text is wrapped, since the name may be shorter.
  const withName = (text: string) => text.replaceAll("npx @signalbox/cli", `npx ${cli.name}`);
  const isBoolean = (setting: string) => cli.booleanSettings?.includes(setting) ?? false;
  const known = settings.flatMap((setting): [string, Setting<unknown>][] => {
    const definition = cli.settings[setting];
    return definition ? [[setting, definition]] : [];
  });
  const flags = known.flatMap(([setting, definition]) =>
    flagRow(setting, definition, isBoolean(setting)),
  );
  const variables = [
    ...known.flatMap(([setting, definition]) => variableRow(setting, definition)),
    ...settings.flatMap((setting) => cli.settingGroups?.[setting] ?? []),
  ];
  return [
    `Usage: ${cli.name} ${name} ${usage}`.trimEnd(),
    "",
    ...wrap(`${summary[0]?.toUpperCase()}${summary.slice(1)}.`, WIDTH),
    ...(details ? ["", ...wrap(withName(details).replaceAll("\n", " "), WIDTH)] : []),
    ...(example ? ["", "Example:", `  ${withName(example)}`] : []),
    "",
    "Options (defaults in parentheses):",
    ...formatRows([
      ...Object.entries(options).map(
        ([flag, { type, value, help }]): Row => [
          `--${flag}${type === "string" ? ` ${value ?? "VALUE"}` : ""}`,
          withName(help),
        ],
      ),
      ["--help", "show this text"],
    ]),
    ...formatSection(
      "Settings. Brackets contain the environment variable and the key in signalbox.config.json. A flag overrides the variable, and the variable overrides the key:",
      flags,
    ),
    ...formatSection(
      "Settings without a flag, because other users can read a command line:",
      variables,
    ),
    ...(command.acceptsAllSettings
      ? ["", "The command also accepts every flag of `npx signalbox serve`."]
      : []),
  ].join("\n");
}

/** Fits most terminals, and text that is pasted into an issue. */
const WIDTH = 100;

type Row = readonly [term: string, text: string];

const formatSection = (title: string, rows: readonly Row[]): string[] =>
  rows.length > 0 ? ["", ...wrap(title, WIDTH), ...formatRows(rows)] : [];

/** Formats rows in two columns. The text of the second column is wrapped. */
function formatRows(rows: readonly Row[]): string[] {
  const indent = Math.max(...rows.map(([term]) => term.length)) + 4;
  return rows.flatMap(([term, text]) =>
    wrap(text, WIDTH - indent).map((line, at) =>
      at === 0 ? `  ${term}`.padEnd(indent) + line : " ".repeat(indent) + line,
    ),
  );
}

function flagRow(name: string, setting: Setting<unknown>, isBoolean: boolean): Row[] {
  if (setting.flag === undefined) return [];
  const value = isBoolean ? "" : " VALUE";
  const origin = `[${setting.env}, ${name}]`;
  return [[`--${setting.flag}${value}`, `${setting.help}${defaultOf(setting)} ${origin}`]];
}

const variableRow = (name: string, setting: Setting<unknown>): Row[] =>
  setting.flag === undefined
    ? [[setting.env, `${setting.help}${defaultOf(setting)} [${name}]`]]
    : [];

function defaultOf({ schema }: Setting<unknown>): string {
  const value = schema.safeParse(undefined).data;
  return value === undefined || value === false ? "" : ` (${value})`;
}
