import { bridge } from "./cli/bridge.ts";
import {
  type Command,
  CommandFailed,
  isUserError,
  parse,
  print,
  UsageError,
} from "./cli/command.ts";
import { config } from "./cli/config.ts";
import { doctor } from "./cli/doctor.ts";
import { flows } from "./cli/flows.ts";
import { help, overview } from "./cli/help.ts";
import { importFlows } from "./cli/import-flows.ts";
import { send } from "./cli/send.ts";
import { serve } from "./cli/serve.ts";
import { source } from "./cli/source.ts";
import { red } from "./cli/style.ts";
import { token } from "./cli/token.ts";
import { version } from "./version.ts";

const commands: Command[] = [
  serve,
  send,
  token,
  source,
  flows,
  importFlows,
  bridge,
  config,
  doctor,
];

function find(name: string): Command {
  const found = commands.find((command) => command.name === name);
  if (found) return found;
  throw new UsageError(`Unknown command "${name}". \`signalbox --help\` lists the commands.`);
}

async function main([first, ...rest]: string[]): Promise<void> {
  if (first === "--help" || first === "-h" || first === "help")
    return print(rest[0] === undefined ? overview(commands) : help(find(rest[0])));
  if (first === "--version" || first === "-v") return print(version);
  const isNamed = first !== undefined && !first.startsWith("-");
  const command = isNamed ? find(first) : serve;
  const parsed = parse(command, isNamed || first === undefined ? rest : [first, ...rest]);
  if (parsed.flags.help) return print(help(command));
  await command.run(parsed);
}

// A reader may close the pipe early, as in `signalbox doctor | head`.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit();
});

main(process.argv.slice(2)).catch((error: unknown) => {
  const expected = isUserError(error) || error instanceof CommandFailed;
  const message = expected ? error.message : error instanceof Error ? error.stack : error;
  process.stderr.write(`${red("signalbox:")} ${message}\n`);
  process.exitCode = isUserError(error) ? 2 : 1;
});
