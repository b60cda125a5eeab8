import { clientDefinitions } from "@signalbox/rules/client-settings.ts";
import { boolean, setting } from "@signalbox/rules/settings.ts";
import { expect, it } from "vitest";
import { z } from "zod";
import { type Command, parse as parseWith } from "./command.ts";

const command: Command = {
  name: "paint",
  usage: "",
  summary: "",
  options: { color: { type: "string", help: "" }, json: { type: "boolean", help: "" } },
  settings: ["port", "token", "databaseUrl"],
  run: async () => {},
};

const settings = {
  ...clientDefinitions,
  databaseUrl: setting({ env: "DATABASE_URL", help: "", schema: z.string().optional() }),
  allowUnsigned: setting({ env: "", flag: "allow-unsigned", help: "", schema: boolean.optional() }),
  acceptLostKey: setting({
    env: "",
    flag: "accept-lost-key",
    help: "",
    schema: boolean.optional(),
  }),
};
const booleanSettings = ["allowUnsigned", "acceptLostKey"];
const parse = (parsed: Command, argv: string[]) =>
  parseWith(parsed, argv, { settings, booleanSettings });

it("parses arguments and flags", () => {
  expect(parse(command, ["a", "--color", "red", "--json", "--port=1", "b", "-h"])).toEqual({
    positionals: ["a", "b"],
    flags: { color: "red", json: true, port: "1", help: true },
    lists: {},
  });
  expect(parse(command, ["--color=-1", "--", "--x"])).toEqual({
    positionals: ["--x"],
    flags: { color: "-1" },
    lists: {},
  });
});

it("accepts the flags of boolean settings without a value", () => {
  const serve: Command = { ...command, settings: ["allowUnsigned", "acceptLostKey"] };
  expect(parse(serve, ["--accept-lost-key", "--allow-unsigned"]).flags).toEqual({
    "accept-lost-key": true,
    "allow-unsigned": true,
  });
});

const runner: Command = {
  ...command,
  takesCommand: true,
  options: { ...command.options, filter: { type: "string", help: "", multiple: true } },
};

it("parses repeated flags as lists, and the command after --", () => {
  const argv = ["--filter", "a", "--json", "--filter=b", "--", "npx", "--json", "--", "x"];
  expect(parse(runner, argv)).toEqual({
    positionals: [],
    flags: { json: true },
    lists: { filter: ["a", "b"] },
    command: ["npx", "--json", "--", "x"],
  });
  expect(parse(runner, ["--json"]).command).toBeUndefined();
});

it("rejects a command that does not follow --", () => {
  expect(() => parse(runner, ["--json", "claude", "-p", "x"])).toThrow(
    "Write -- before the command to run: -- claude …. See `npx @signalbox/cli paint --help`.",
  );
});

it.each([
  [["--colour", "red"], "Unknown flag --colour. Did you mean --color?"],
  [["--prot", "1"], "Unknown flag --prot. Did you mean --port?"],
  [["--nonsense"], "Unknown flag --nonsense."],
  [["-x"], "Unknown flag -x."],
  [["--no-json"], "Unknown flag --no-json."],
  [["--color"], "--color needs a value."],
  [["--color", "--json"], "--color needs a value. If the value is --json, write --color=--json."],
  [["--json=yes"], "--json takes no value."],
  [
    ["--token", "x"],
    "There is no flag --token, because other users can read a command line: set SIGNALBOX_TOKEN in the environment.",
  ],
  [
    ["--database-url=x"],
    "There is no flag --database-url, because other users can read a command line: set DATABASE_URL in the environment.",
  ],
])("rejects %j with an explanation", (argv, message) => {
  expect(() => parse(command, argv)).toThrow(`${message} See \`npx @signalbox/cli paint --help\`.`);
});
