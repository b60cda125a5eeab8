/** The text of `--help`: a command's options, and the settings that it reads. */
import { secretVariable } from "../../ingest/secret-variable.ts";
import { sources } from "../../ingest/sources/index.ts";
import { definitions, type SettingName } from "../settings.ts";
import { version } from "../version.ts";
import { type Command, table } from "./command.ts";
import { bold, dim } from "./style.ts";

export function overview(commands: readonly Command[]): string {
  return [
    `${bold("signalbox")} ${version}, the trigger hub for AI agents`,
    "",
    "Usage: signalbox COMMAND [options]",
    "",
    table(commands.map(({ name, summary }) => [`  ${name}`, summary])),
    "",
    "`signalbox COMMAND --help` shows the details. Without a command, `serve` runs.",
  ].join("\n");
}

export function help(command: Command): string {
  const { name, usage, summary, details, options, settings } = command;
  const names = settings.filter((one) => one !== "secrets");
  const flags = names.flatMap((one) => flagRow(one));
  const variables = [
    ...names.flatMap((one) => variableRow(one)),
    ...(settings.includes("secrets") ? secretRows : []),
  ];
  return [
    `Usage: signalbox ${name} ${usage}`,
    "",
    `${summary[0]?.toUpperCase()}${summary.slice(1)}.`,
    ...(details ? ["", details] : []),
    "",
    "Options:",
    table([
      ...Object.entries(options).map(([flag, { type, value, help }]) => [
        `  --${flag}${type === "string" ? ` ${value ?? "VALUE"}` : ""}`,
        help,
      ]),
      ["  --help", "show this text"],
    ]),
    ...section(
      "Settings (flags override the environment, which overrides signalbox.config.json):",
      flags,
    ),
    ...section(
      "Settings without a flag, because other users can read a command line (environment or signalbox.config.json):",
      variables,
    ),
    ...(command.acceptsAllSettings ? ["", "It also accepts every flag of `signalbox serve`."] : []),
  ].join("\n");
}

const section = (title: string, rows: string[][]) =>
  rows.length > 0 ? ["", title, table(rows)] : [];

function flagRow(name: SettingName): string[][] {
  const setting = definitions[name];
  if (!("flag" in setting)) return [];
  const value = name === "allowUnsigned" ? "" : " VALUE";
  return [
    [`  --${setting.flag}${value}`, `${setting.help}${defaultOf(name)} ${dim(`[${setting.env}]`)}`],
  ];
}

function variableRow(name: SettingName): string[][] {
  const setting = definitions[name];
  return "flag" in setting ? [] : [[`  ${setting.env}`, `${setting.help}${defaultOf(name)}`]];
}

function defaultOf(name: SettingName): string {
  const value = definitions[name].schema.safeParse(undefined).data;
  return value === undefined || value === false ? "" : ` (${value})`;
}

const secretRows = sources.map(({ id, title }) => [
  `  ${secretVariable(id)}`,
  `webhook secrets of ${title}, separated by commas`,
]);
