/** The program `signalbox-cli`. */
import manifest from "../package.json" with { type: "json" };
import { createCommands } from "./commands.ts";
import { runCli } from "./run-cli.ts";
import { clientSettings, loadClientSettings } from "./settings.ts";

runCli({
  name: "signalbox-cli",
  title: "the commands for a Signalbox hub",
  version: manifest.version,
  commands: Object.values(
    createCommands({ openSession: (flags) => ({ settings: loadClientSettings(flags) }) }),
  ),
  settings: clientSettings,
});
