#!/usr/bin/env -S node --max-semi-space-size=16
import { type Command, isUserError, parse, print, table, UsageError } from "./cli/command.ts";
import { config } from "./cli/config.ts";
import { doctor } from "./cli/doctor.ts";
import { send } from "./cli/send.ts";
import { serve } from "./cli/serve.ts";
import { source } from "./cli/source.ts";
import { bold, dim, red } from "./cli/style.ts";
import { token } from "./cli/token.ts";
import { definitions } from "./settings.ts";
import { version } from "./version.ts";

const commands: Command[] = [serve, send, token, source, config, doctor];

/** The settings as options, for parsing and for `--help`. */
const settings: Command["options"] = Object.fromEntries(
  Object.values(definitions).flatMap((setting) =>
    "flag" in setting
      ? [
          [
            setting.flag,
            {
              type: setting.flag === "allow-unsigned" ? ("boolean" as const) : ("string" as const),
              value: "VALUE",
              help: `${setting.help} ${dim(`[${setting.env}]`)}`,
            },
          ],
        ]
      : [],
  ),
);

function overview(): string {
  return [
    `${bold("signalbox")} ${version}, the trigger hub for AI agents`,
    "",
    "Usage: signalbox COMMAND [options]",
    "",
    table(commands.map(({ name, summary }) => [`  ${name}`, summary])),
    "",
    "`signalbox COMMAND --help` says more. Without a command it serves.",
  ].join("\n");
}

function help({ name, usage, summary, details, options, takesSettings }: Command): string {
  const rows = (from: Command["options"]) =>
    table(
      Object.entries(from).map(([flag, { type, value, help }]) => [
        `  --${flag}${type === "string" ? ` ${value ?? "VALUE"}` : ""}`,
        help,
      ]),
    );
  return [
    `Usage: signalbox ${name} ${usage}`,
    "",
    `${summary[0]?.toUpperCase()}${summary.slice(1)}.`,
    ...(details ? ["", details] : []),
    "",
    "Options:",
    rows({ ...options, help: { type: "boolean", help: "this text" } }),
    ...(takesSettings
      ? [
          "",
          "Settings (a flag wins over the environment, that over signalbox.config.json):",
          rows(settings),
        ]
      : []),
  ].join("\n");
}

async function main([first, ...rest]: string[]): Promise<void> {
  if (first === "--help" || first === "-h" || first === "help") {
    const asked = commands.find(({ name }) => name === rest[0]);
    return print(asked ? help(asked) : overview());
  }
  if (first === "--version" || first === "-v") return print(version);
  const named = commands.find(({ name }) => name === first);
  if (!named && first !== undefined && !first.startsWith("-"))
    throw new UsageError(`There is no command "${first}". \`signalbox --help\` lists them.`);
  const command = named ?? serve;
  const argv = named ? rest : first === undefined ? [] : [first, ...rest];
  const parsed = parse(command, argv, settings);
  if (parsed.flags.help) return print(help(command));
  await command.run(parsed);
}

main(process.argv.slice(2)).catch((error: unknown) => {
  if (isUserError(error)) process.stderr.write(`${red("signalbox:")} ${error.message}\n`);
  else
    process.stderr.write(`${red("signalbox:")} ${error instanceof Error ? error.stack : error}\n`);
  process.exitCode = isUserError(error) ? 2 : 1;
});
