/** What the program of the hub takes from this package. */
export {
  actionOf,
  asString,
  assertNoMoreArguments,
  type Cli,
  type Command,
  CommandFailed,
  print,
  table,
  UsageError,
} from "./command.ts";
export { createCommands } from "./commands.ts";
export {
  connectToHub,
  createHubClient,
  findRunningHub,
  type HubClient,
  HubRequestFailed,
  isSameUrl,
  locateHub,
} from "./hub-client.ts";
export {
  type HubFile,
  readHubFile,
  removeHubFile,
  tryReadHubFile,
  writeHubFile,
} from "./hub-file.ts";
export { program } from "./program.ts";
export { runCli } from "./run-cli.ts";
export { quoteForShell, sameHubFlags, serveFlags } from "./same-hub-flags.ts";
export type { Sender } from "./send.ts";
export { localUrl, readConfigFile } from "./settings.ts";
export { bold, cyan, dim, green, red, yellow } from "./style.ts";
export type { Session } from "./with-hub.ts";
