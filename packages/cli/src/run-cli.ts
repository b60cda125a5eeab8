/** Runs a program with commands. Exit codes: 0 success, 1 failure, 2 invalid command line or setting. */
import { SettingsError } from "@signalbox/rules/settings.ts";
import {
  type Cli,
  type Command,
  CommandFailed,
  findClosest,
  parse,
  print,
  UsageError,
} from "./command.ts";
import { formatHelp, formatOverview } from "./help.ts";
import { withProgram } from "./program.ts";
import { red } from "./style.ts";

export function runCli(cli: Cli): void {
  // The program that reads the output may close the pipe early, as in `signalbox doctor | head`.
  process.stdout.on("error", (error: NodeJS.ErrnoException) => {
    if (error.code !== "EPIPE") throw error;
    process.exit();
  });
  // An error of stderr is ignored: there is no other stream to report it on.
  process.stderr.on("error", () => {});

  main(cli, process.argv.slice(2)).catch((error: unknown) => {
    const isUsers = isUserError(cli, error);
    const isExpected = isUsers || error instanceof CommandFailed || cli.isExplained?.(error);
    const message = isExpected
      ? withProgram(error.message)
      : error instanceof Error
        ? error.stack
        : error;
    process.stderr.write(`${red(`${cli.name}:`)} ${message}\n`);
    process.exitCode = isUsers ? 2 : 1;
  });
}

async function main(cli: Cli, [first, ...rest]: string[]): Promise<void> {
  if (first === "--help" || first === "-h" || first === "help")
    return print(
      withProgram(
        rest[0] === undefined ? formatOverview(cli) : formatHelp(findCommand(cli, rest[0]), cli),
      ),
    );
  if (first === "--version" || first === "-v") return print(cli.version);
  const hasCommandName = first !== undefined && !first.startsWith("-");
  const command = hasCommandName ? findCommand(cli, first) : cli.defaultCommand;
  if (!command) throw new UsageError(`Missing command. ${LIST_HINT}`);
  const argv = hasCommandName || first === undefined ? rest : [first, ...rest];
  const parsed = parse(command, argv, cli);
  if (parsed.flags.help) return print(withProgram(formatHelp(command, cli)));
  await command.run(parsed);
}

const LIST_HINT = "`npx @signalbox/cli --help` lists the commands.";

function findCommand({ commands }: Cli, name: string): Command {
  const command = commands.find((command) => command.name === name);
  if (command) return command;
  const similar = findClosest(
    name,
    commands.map((command) => command.name),
  );
  const hint = similar === undefined ? "" : ` Did you mean ${similar}?`;
  throw new UsageError(`Unknown command "${name}".${hint} ${LIST_HINT}`);
}

/** True for errors that the user must correct, such as an invalid setting. */
const isUserError = ({ userErrors = [] }: Cli, error: unknown): error is Error =>
  error instanceof UsageError ||
  error instanceof SettingsError ||
  (error instanceof Error && "code" in error && userErrors.includes(String(error.code)));
