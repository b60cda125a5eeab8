import {
  type Command,
  CommandFailed,
  isUserError,
  parse,
  print,
  UsageError,
} from "../../../cli/src/command.ts";
import { findClosest } from "../../../cli/src/find-closest.ts";
import { formatHelp, formatOverview } from "../../../cli/src/help.ts";
import { withProgram } from "../../../cli/src/program.ts";
import { red } from "../../../cli/src/style.ts";
import { isStorageUnavailable } from "../kernel/store/storage-unavailable.ts";
import { commands } from "./cli/commands.ts";
import { serve } from "./cli/serve.ts";
import { version } from "./version.ts";

function findCommand(name: string): Command {
  const command = commands.find((command) => command.name === name);
  if (command) return command;
  const similar = findClosest(
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
    return print(
      withProgram(
        rest[0] === undefined ? formatOverview(commands) : formatHelp(findCommand(rest[0])),
      ),
    );
  if (first === "--version" || first === "-v") return print(version);
  const hasCommandName = first !== undefined && !first.startsWith("-");
  const command = hasCommandName ? findCommand(first) : serve;
  const parsed = parse(command, hasCommandName || first === undefined ? rest : [first, ...rest]);
  if (parsed.flags.help) return print(withProgram(formatHelp(command)));
  await command.run(parsed);
}

// The program that reads the output may close the pipe early, as in `signalbox doctor | head`.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
  if (error.code !== "EPIPE") throw error;
  process.exit();
});
// An error of stderr is ignored: there is no other stream to report it on.
process.stderr.on("error", () => {});

main(process.argv.slice(2)).catch((error: unknown) => {
  const isExpected =
    isUserError(error) || error instanceof CommandFailed || isStorageUnavailable(error);
  const message = isExpected
    ? withProgram(error.message)
    : error instanceof Error
      ? error.stack
      : error;
  process.stderr.write(`${red("signalbox:")} ${message}\n`);
  process.exitCode = isUserError(error) ? 2 : 1;
});
