import { withProgram } from "../../../cli/src/program.ts";
import { formatHelp, formatOverview } from "../../../cli/src/help.ts";
import { parse, findClosest } from "../../../cli/src/command.ts";
import { runCli } from "@signalbox/cli/src/index.ts";
import { cli } from "./cli/commands.ts";
import { isStorageUnavailable } from "../kernel/store/availability.ts";
import { type Command, CommandFailed, isUserError, print, UsageError } from "./cli/command.ts";
import { commands } from "./cli/commands.ts";
import { serve } from "./cli/serve.ts";
import { red } from "./cli/style.ts";
import { version } from "./version.ts";

runCli(cli);
