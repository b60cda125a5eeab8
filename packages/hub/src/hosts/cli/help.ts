/** The text of `--help`: a command's options, and the settings that it reads. */
import { secretVariable } from "../../ingest/secret-variable.ts";
import { sources } from "../../ingest/sources/index.ts";
import { definitions, type SettingName } from "../settings.ts";
import { version } from "../version.ts";
import { type Command, isBooleanSetting, table } from "./command.ts";
import { bold } from "./style.ts";
import { wrap } from "./text-layout.ts";

export function overview(commands: readonly Command[]): string {
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

export function help(command: Command): string {
  const { name, usage, summary, details, example, options, settings } = command;
  const names = settings.filter((one) => one !== "secrets");
  const flags = names.flatMap((one) => flagRow(one));
  const variables = [
    ...names.flatMap((one) => variableRow(one)),
    ...(settings.includes("secrets") ? secretRows : []),
  ];
  return [
    `Usage: signalbox ${name} ${usage}`.trimEnd(),
    "",
    ...wrap(`${summary[0]?.toUpperCase()}${summary.slice(1)}.`, WIDTH),
    ...(details ? ["", ...wrap(details.replaceAll("\n", " "), WIDTH)] : []),
    ...(example ? ["", "Example:", `  ${example}`] : []),
    "",
    "Options:",
    ...rowsOf([
      ...Object.entries(options).map(
        ([flag, { type, value, help }]): Row => [
          `--${flag}${type === "string" ? ` ${value ?? "VALUE"}` : ""}`,
          help,
        ],
      ),
      ["--help", "show this text"],
    ]),
    ...section(
      "Settings. A flag overrides the environment variable, which overrides the key in signalbox.config.json; both are in brackets:",
      flags,
    ),
    ...section("Settings without a flag, because other users can read a command line:", variables),
    ...(command.acceptsAllSettings
      ? ["", "It also accepts every flag of `npx signalbox serve`."]
      : []),
  ].join("\n");
}

/** Fits most terminals, and text that is pasted into an issue. */
const WIDTH = 100;

type Row = [term: string, text: string];

const section = (title: string, rows: Row[]): string[] =>
  rows.length > 0 ? ["", ...wrap(title, WIDTH), ...rowsOf(rows)] : [];

/** Two columns. The text wraps in the second one. */
function rowsOf(rows: readonly Row[]): string[] {
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
