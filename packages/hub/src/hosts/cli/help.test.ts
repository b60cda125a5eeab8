import { formatHelp as formatHelpOf, formatOverview } from "@signalbox/cli/src/help.ts";
import type { Command } from "@signalbox/cli/src/index.ts";
import { expect, it } from "vitest";
import { sources } from "../../events/sources/index.ts";
import { cli } from "./commands.ts";
import { serve } from "./serve.ts";

const formatHelp = (command: Command) => formatHelpOf(command, cli);
const exec = cli.commands.find(({ name }) => name === "exec") as Command;

it("fits the overview and the help of each command into 100 columns", () => {
  const texts = [formatOverview(cli), ...cli.commands.map(formatHelp)];
  const tooLong = texts.flatMap((text) => text.split("\n")).filter((line) => line.length > 100);
  expect(tooLong).toEqual([]);
});

it("shows the example of a command on its own line", () => {
  const lines = formatHelp(exec).split("\n");
  const at = lines.indexOf("Example:");
  expect(lines.slice(at - 1, at + 3)).toEqual([
    "",
    "Example:",
    '  npx signalbox exec --type issues -- claude -p "Triage the issue on stdin"',
    "",
  ]);
});

it("names every setting of `serve` with its flag, its variable and its key in the file", () => {
  const text = formatHelp(serve).replace(/\s+/g, " ");
  expect(text).toContain("--public-url VALUE the URL under which");
  expect(text).toContain("[SIGNALBOX_PUBLIC_URL, publicUrl]");
  expect(text).toContain("port to listen on (4747) [PORT, port]");
  expect(text).toMatch(/DATABASE_URL sqlite: [^[]+\[databaseUrl\]/);
  for (const { id } of sources) expect(text).toContain(`[secrets.${id}]`);
});

it("wraps the text of an option inside its column", () => {
  const lines = formatHelp(serve).split("\n");
  const at = lines.findIndex((line) => line.includes("--allow-private"));
  const column = (lines[at] as string).search(/(?<=--allow-private VALUE +)\S/);
  expect((lines[at + 1] as string).search(/\S/)).toBe(column);
});

it("names only settings that exist", () => {
  const known = [...Object.keys(cli.settings), ...Object.keys(cli.settingGroups ?? {})];
  for (const { name, settings } of cli.commands)
    expect(known, name).toEqual(expect.arrayContaining([...settings]));
});
