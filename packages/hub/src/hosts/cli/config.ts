import {
  assertNoMoreArguments,
  type Command,
  CommandFailed,
  connectToHub,
  createHubClient,
  dim,
  findRunningHub,
  print,
  table,
} from "@signalbox/cli/src/index.ts";
import { effectiveSettings } from "../../effective-settings.ts";
import { SettingsError } from "../../kernel/settings.ts";
import type { EffectiveSetting } from "../../operations/settings-routes.ts";
import type { Settings } from "../../settings.ts";
import { loadSettings } from "../node/load-settings.ts";

export const config: Command = {
  name: "config",
  usage: "[--json] [options]",
  summary: "print all settings of the running hub, and where each value comes from",
  details: "If no hub is running, prints the settings with which `serve` would start one here.",
  options: { json: { type: "boolean", help: "print JSON" } },
  settings: [],
  acceptsAllSettings: true,
  async run({ positionals, flags }) {
    assertNoMoreArguments(positionals);
    const settings = loadSettings(flags);
    const { items, note } = await readSettingsOfHub(settings);
    if (flags.json) {
      const entries = items.map(({ name, value, from, variable }) => [
        name,
        { value, from, env: variable },
      ]);
      print(JSON.stringify(Object.fromEntries(entries), null, 2));
      process.stderr.write(`${dim(note)}\n`);
      return;
    }
    print(table([["SETTING", "VALUE", "FROM", "ENVIRONMENT"], ...items.map(rowOf)]));
    print(dim(`\n${note}`));
  },
};

const rowOf = ({ name, value, from, variable }: EffectiveSetting) => [
  name,
  value ?? "–",
  from,
  variable,
];

/** Returns the settings of the hub, or those of this terminal if it cannot ask the hub. */
async function readSettingsOfHub(
  settings: Settings,
): Promise<{ items: EffectiveSetting[]; note: string }> {
  const ofTerminal = effectiveSettings(settings.origins);
  try {
    const hub = await connect(settings);
    if (!hub)
      return {
        items: ofTerminal,
        note: `No hub runs on ${settings.data}. ${OF_TERMINAL}, with which \`npx signalbox serve\` would start one.`,
      };
    const { items } = await hub.get("/api/settings");
    const others = ofTerminal.filter((setting) => isOther(setting, items));
    const differences =
      others.length > 0 ? ` This terminal has other values:\n\n${table(others.map(rowOf))}` : "";
    return {
      items,
      note: `These are the settings of the hub at ${hub.url}, with which it was started.${differences}`,
    };
  } catch (error) {
    if (!(error instanceof CommandFailed || error instanceof SettingsError)) throw error;
    return { items: ofTerminal, note: `${error.message.replace(/\.?$/, ".")} ${OF_TERMINAL}.` };
  }
}

const OF_TERMINAL = "These are the settings of this terminal";

async function connect(settings: Settings) {
  if (settings.url !== undefined) return connectToHub(settings);
  const running = await findRunningHub(settings);
  return running && createHubClient(running);
}

/** With these settings, a command finds the hub and authorizes its requests. */
const SETTINGS_OF_COMMANDS = ["url", "data", "token"];

const isOther = ({ name, value, from }: EffectiveSetting, ofHub: readonly EffectiveSetting[]) =>
  from !== "default" &&
  !SETTINGS_OF_COMMANDS.includes(name) &&
  value !== (ofHub.find((setting) => setting.name === name)?.value ?? null);
