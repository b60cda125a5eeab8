import { closest } from "./cli/closest.ts";
import {
  type Command,
  CommandFailed,
  isUserError,
  parse,
  print,
  UsageError,
} from "./cli/command.ts";
import { commands } from "./cli/commands.ts";
import { help, overview } from "./cli/help.ts";
import { withProgram } from "./cli/program.ts";
import { serve } from "./cli/serve.ts";
import { red } from "./cli/style.ts";
import { DatabaseUnavailable } from "./node/open-store.ts";
import { version } from "./version.ts";

function find(name: string): Command {
  const found = commands.find((command) => command.name === name);
  if (found) return found;
  const similar = closest(
    name,
    commands.map((command) => command.name),
  );
  const hint = similar === undefined ? "" : ` Did you mean ${similar}?`;
  throw new UsageError(
    `Unknown command "${name}".${hint} \`npx signalbox --help\` lists the commands.`,
  );
}

async function main([first, ...rest]: string[]): Promise<void> {
  if (first === "--help" || first === "-h" || first === "help")
    return print(withProgram(rest[0] === undefined ? overview(commands) : help(find(rest[0]))));
  if (first === "--version" || first === "-v") return print(version);
  const isNamed = first !== undefined && !first.startsWith("-");
  const command = isNamed ? find(first) : serve;
  const parsed = parse(command, isNamed || first === undefined ? rest : [first, ...rest]);
  if (parsed.flags.help) return print(withProgram(help(command)));
  await command.run(parsed);
}

// A reader may close the pipe early, as in `signalbox doctor | head`.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit();
});
// Nothing is left to report an error to.
process.stderr.on("error", () => {});

main(process.argv.slice(2)).catch((error: unknown) => {
  const expected =
    isUserError(error) || error instanceof CommandFailed || error instanceof DatabaseUnavailable;
  const message = expected
    ? withProgram(error.message)
    : error instanceof Error
      ? error.stack
      : error;
  process.stderr.write(`${red("signalbox:")} ${message}\n`);
  process.exitCode = isUserError(error) ? 2 : 1;
});
