/** The program `signalbox`: the commands of the API, and those that need a hub, its store or its settings. */

import { type Cli, type Command, createCommands } from "@signalbox/cli/src/index.ts";
import { secretVariable } from "../../events/admit/source.ts";
import { sources } from "../../events/sources/index.ts";
import { isStorageUnavailable } from "../../kernel/store/availability.ts";
import { definitions, type SettingName } from "../../settings.ts";
import { loadSettings } from "../node/load-settings.ts";
import { version } from "../version.ts";
import { compact } from "./compact.ts";
import { config } from "./config.ts";
import { doctor } from "./doctor.ts";
import { key } from "./key.ts";
import { isSqliteFile, readLegacyDatabase } from "./read-legacy-database.ts";
import { sender } from "./sender.ts";
import { serve } from "./serve.ts";
import { withStore } from "./with-store.ts";

const commands = createCommands({
  openSession(flags) {
    const settings = loadSettings(flags);
    return {
      settings,
      secretOf: (source) => settings.secrets[source]?.[0],
      serveLocally: ({ create }, work) =>
        withStore(settings, { create }, async (store) => {
          // Loaded only here, since commands start faster without the routes.
          const { serveInProcess } = await import("./serve-in-process.ts");
          const { close, ...api } = await serveInProcess(store, settings);
          try {
            await work(api);
          } finally {
            await close();
          }
        }),
    };
  },
  sender,
  readDatabase: async (file) => (isSqliteFile(file) ? readLegacyDatabase(file) : undefined),
});

/** Adds the settings that a command needs to use the store if no hub is running. */
const withStoreSettings = (command: Command, ...names: SettingName[]): Command => ({
  ...command,
  settings: [...command.settings, "databaseUrl", ...names],
});

export const cli: Cli = {
  name: "signalbox",
  title: "the trigger hub for AI agents",
  version,
  defaultCommand: serve,
  commands: [
    serve,
    commands.open,
    { ...commands.send, settings: [...commands.send.settings, "secrets"] },
    commands.events,
    commands.exec,
    withStoreSettings(commands.token, "tenancy"),
    withStoreSettings(commands.source, "key", "tenancy", "host", "port", "publicUrl"),
    withStoreSettings(commands.connection, "key", "tenancy", "allowCommands"),
    withStoreSettings(commands.tenant, "tenancy"),
    key,
    compact,
    withStoreSettings(commands.flows, "tenancy"),
    withStoreSettings(commands.importFlows, "tenancy"),
    commands.bridge,
    config,
    doctor,
  ],
  settings: definitions,
  booleanSettings: ["allowUnsigned", "acceptLostKey"] satisfies SettingName[],
  settingGroups: {
    secrets: sources.map(({ id, title }): [string, string] => [
      secretVariable(id),
      `webhook secrets of ${title}, separated by commas [secrets.${id}]`,
    ]),
  },
  userErrors: ["cannot_unseal", "github_app_key"],
  isExplained: isStorageUnavailable,
};
