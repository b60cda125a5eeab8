/** Formats the text of `--help`: a command's options, and the settings that it reads. */

import { secretVariable } from "../../hub/src/events/admit/source.ts";
import { sources } from "../../hub/src/events/sources/index.ts";
import { definitions, type SettingName } from "../../hub/src/settings.ts";
import { version } from "../version.ts";
import { type Command, isBooleanSetting, table } from "./command.ts";
import { bold } from "./style.ts";
import { wrap } from "./text-layout.ts";

export function formatOverview(commands: readonly Command[]): string {
  return [
    `${bold("signalbox")} ${version}, the trigger hub for AI agents`,
    "",
    "Usage: signalbox COMMAND [options]",
    "",
    table(commands.map(({ name, summary }) => [`  ${name}`, summary])),
    "",
    "`npx signalbox COMMAND --help` shows the details. Without a command, `serve` runs.",
  ].join("\n");
}

export function formatHelp(command: Command): string {
  const { name, usage, summary, details, example, options, settings } = command;
  const settingNames = settings.filter((setting) => setting !== "secrets");
  const flags = settingNames.flatMap((setting) => flagRow(setting));
  const variables = [
    ...settingNames.flatMap((setting) => variableRow(setting)),
    ...(settings.includes("secrets") ? secretRows : []),
  ];
  return [
    `Usage: signalbox ${name} ${usage}`.trimEnd(),
    "",
    ...wrap(`${summary[0]?.toUpperCase()}${summary.slice(1)}.`, WIDTH),
    ...(details ? ["", ...wrap(details.replaceAll("\n", " "), WIDTH)] : []),
    ...(example ? ["", "Example:", `  ${example}`] : []),
    "",
    "Options (defaults in parentheses):",
    ...formatRows([
      ...Object.entries(options).map(
        ([flag, { type, value, help }]): Row => [
          `--${flag}${type === "string" ? ` ${value ?? "VALUE"}` : ""}`,
          help,
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

type Row = [term: string, text: string];

const formatSection = (title: string, rows: Row[]): string[] =>
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

function flagRow(name: SettingName): Row[] {
  const setting = definitions[name];
  if (!("flag" in setting)) return [];
  const value = isBooleanSetting(name) ? "" : " VALUE";
  const origin = `[${setting.env}, ${name}]`;
  return [[`--${setting.flag}${value}`, `${setting.help}${defaultOf(name)} ${origin}`]];
}

function variableRow(name: SettingName): Row[] {
  const setting = definitions[name];
  return "flag" in setting ? [] : [[setting.env, `${setting.help}${defaultOf(name)} [${name}]`]];
}

function defaultOf(name: SettingName): string {
  const value = definitions[name].schema.safeParse(undefined).data;
  return value === undefined || value === false ? "" : ` (${value})`;
}

const secretRows = sources.map(
  ({ id, title }): Row => [
    secretVariable(id),
    `webhook secrets of ${title}, separated by commas [secrets.${id}]`,
  ],
);
