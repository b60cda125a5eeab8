import { expect, it } from "vitest";
import type { Cli } from "./command.ts";
import { createCommands } from "./commands.ts";
import { formatHelp, formatOverview } from "./help.ts";
import { clientSettings, loadClientSettings } from "./settings.ts";

const commands = createCommands({
  openSession: (flags) => ({ settings: loadClientSettings(flags) }),
});
const cli: Cli = {
  name: "signalbox-cli",
  title: "the commands",
  version: "1.2.3",
  commands: Object.values(commands),
  settings: clientSettings,
};

it("fits the overview and the help of each command into 100 columns", () => {
  const texts = [formatOverview(cli), ...cli.commands.map((command) => formatHelp(command, cli))];
  const tooLong = texts.flatMap((text) => text.split("\n")).filter((line) => line.length > 100);
  expect(tooLong).toEqual([]);
});

it("describes only what the program can do without a hub", () => {
  const texts = cli.commands.map((command) => formatHelp(command, cli)).join("\n");
  expect(texts).toContain("npx signalbox-cli exec");
  expect(texts).not.toMatch(/npx signalbox |npx @|act as the sender|SQLite|DATABASE_URL|--tenancy/);
  for (const { settings } of cli.commands)
    expect(Object.keys(clientSettings)).toEqual(expect.arrayContaining([...settings]));
});
