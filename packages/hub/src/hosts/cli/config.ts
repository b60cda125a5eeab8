import { formatSetting } from "../effective-settings.ts";
import { loadSettings } from "../node/load-settings.ts";
import { assertNoMoreArguments, type Command, print, table } from "./command.ts";
import { dim } from "./style.ts";

export const config: Command = {
  name: "config",
  usage: "[--json] [options]",
  summary: "print all settings, and where each value comes from",
  options: { json: { type: "boolean", help: "print JSON" } },
  settings: [],
  acceptsAllSettings: true,
  async run({ positionals, flags }) {
    assertNoMoreArguments(positionals);
    const { origins } = loadSettings(flags);
    if (flags.json) {
      const entries = origins.map((origin) => [
        origin.name,
        { value: formatSetting(origin), from: origin.from, env: origin.env },
      ]);
      return print(JSON.stringify(Object.fromEntries(entries), null, 2));
    }
    print(
      table([
        ["SETTING", "VALUE", "FROM", "ENVIRONMENT"],
        ...origins.map((origin) => [
          origin.name,
          formatSetting(origin) ?? "–",
          origin.from,
          origin.env,
        ]),
      ]),
    );
    print(
      dim(
        "\nThese are the settings of this terminal. A running hub uses those with which it was started.",
      ),
    );
  },
};
