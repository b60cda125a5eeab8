/** Reads and validates the options of `signalbox exec`. */
import { asString, numberOf, type Parsed, UsageError } from "../command.ts";
import { type Condition, parseCondition } from "./conditions.ts";

export interface ExecOptions {
  argv: readonly string[];
  selection: { type: string | undefined; repo: string | undefined; source: string | undefined };
  conditions: readonly Condition[];
  concurrency: number;
  /** 0 means no limit. */
  timeoutS: number;
  maxAttempts: number;
  backoffS: number;
  leaseS: number;
  once: boolean;
  isDryRun: boolean;
  isQuiet: boolean;
  json: boolean;
}

export function readExecOptions({ flags, lists, command }: Parsed): ExecOptions {
  const integerOf = (name: string, fallback: number, min: number, max: number) =>
    numberOf(
      flags,
      name,
      (value) => Number.isInteger(value) && value >= min && value <= max,
      `a whole number from ${min} to ${max}`,
    ) ?? fallback;
  return {
    argv: commandLine(command, flags.shell === true),
    selection: {
      type: nonEmpty(flags, "type"),
      repo: nonEmpty(flags, "repo"),
      source: nonEmpty(flags, "source"),
    },
    conditions: (lists.filter ?? []).map(readCondition),
    concurrency: integerOf("concurrency", 1, 1, 100),
    timeoutS: integerOf("timeout", 3_600, 0, 604_800),
    maxAttempts: integerOf("attempts", 3, 1, 1_000),
    backoffS: integerOf("backoff", 30, 0, 3_600),
    leaseS: integerOf("lease", 120, 5, 86_400),
    once: flags.once === true,
    isDryRun: flags["dry-run"] === true,
    isQuiet: flags.quiet === true,
    json: flags.json === true,
  };
}

function commandLine(command: string[] | undefined, isShell: boolean): string[] {
  if (command === undefined || command.length === 0)
    throw new UsageError(
      "Missing command to run: `npx @signalbox/cli exec [options] -- COMMAND [ARGUMENT…]`.",
    );
  if (!isShell) return command;
  const [script = "", ...extraArguments] = command;
  if (extraArguments.length > 0)
    throw new UsageError("With --shell, the command must be one argument: quote the whole script.");
  return ["sh", "-c", script];
}

function nonEmpty(flags: Parsed["flags"], name: string): string | undefined {
  const value = asString(flags[name]);
  if (value === "") throw new UsageError(`--${name} must not be empty.`);
  return value;
}

function readCondition(filter: string): Condition {
  const condition = parseCondition(filter);
  if (!condition)
    throw new UsageError(
      `--filter must be PATH=VALUE, such as issue.labels[].name=bug, but is "${filter}".`,
    );
  return condition;
}
