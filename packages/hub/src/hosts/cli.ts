import { runCli } from "@signalbox/cli/src/index.ts";
import { cli } from "./cli/commands.ts";

runCli(cli);
