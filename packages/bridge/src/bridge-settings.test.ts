import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { readSettings, SettingsError } from "./bridge-settings.ts";

const url = { WEBHOOK_WORKER_URL: "http://127.0.0.1:4747" };

describe("readSettings", () => {
  it("uses the local hub without any setting", () => {
    expect(readSettings({ SIGNALBOX_DATA: tempFolder() }, "/home/mona", "linux")).toEqual({
      url: "http://127.0.0.1:4747",
      localHubFrom: "the default",
      token: undefined,
      hasBrowser: false,
      channel: true,
      senders: undefined,
      stateFolder: "/home/mona/.signalbox/bridge",
      remindMs: 600_000,
    });
  });

  it("reads the other settings", () => {
    const env = {
      SIGNALBOX_URL: " https://hub.example/box/mcp/ ",
      SIGNALBOX_TOKEN: "sbx_1",
      WEBHOOK_CHANNEL: "0",
      WEBHOOK_CHANNEL_SENDERS: "mona, *[bot],",
      SIGNALBOX_BRIDGE_STATE: "/tmp/x",
      SIGNALBOX_BRIDGE_REMIND_MINUTES: "0",
    };
    expect(readSettings(env, "/home/mona", "darwin")).toEqual({
      url: "https://hub.example/box",
      localHubFrom: undefined,
      token: "sbx_1",
      hasBrowser: true,
      channel: false,
      senders: ["mona", "*[bot]"],
      stateFolder: "/tmp/x",
      remindMs: 0,
    });
  });

  it.each([
    [{}, "darwin", true],
    [{}, "linux", false],
    [{ DISPLAY: ":0" }, "linux", true],
    [{ DISPLAY: ":0", SSH_CONNECTION: "10.0.0.1 22" }, "linux", false],
  ])("finds a browser with %j on %s: %s", (env, platform, hasBrowser) =>
    expect(readSettings({ ...url, ...env }, "/home/mona", platform)).toMatchObject({ hasBrowser }),
  );

  it("prefers the bridge's own variable to the common one, and both to the running hub's file", () => {
    const data = tempFolder();
    writeFileSync(join(data, "hub.json"), JSON.stringify({ url: "http://127.0.0.1:5151" }));
    const read = (env: Record<string, string>) => {
      const { url, localHubFrom } = readSettings({ SIGNALBOX_DATA: data, ...env });
      return [url, localHubFrom];
    };
    const common = { SIGNALBOX_URL: "http://common.example" };
    expect(read({})).toEqual(["http://127.0.0.1:5151", join(data, "hub.json")]);
    expect(read(common)).toEqual(["http://common.example", undefined]);
    expect(read({ ...common, ...url })).toEqual(["http://127.0.0.1:4747", undefined]);
    expect(read({ ...common, WEBHOOK_WORKER_URL: " " })[0]).toBe("http://common.example");
  });

  it("treats an unreplaced placeholder as unset", () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a placeholder of an MCP client
    const placeholder = "${user_config.senders}";
    expect(readSettings({ ...url, WEBHOOK_CHANNEL_SENDERS: placeholder }).senders).toBeUndefined();
  });

  it.each([
    ["WEBHOOK_WORKER_URL", "hub.example"],
    ["SIGNALBOX_URL", "ftp://hub.example"],
    ["SIGNALBOX_URL", "https://user:pw@hub.example"],
    ["SIGNALBOX_TOKEN", "two words"],
    ["WEBHOOK_CHANNEL", "maybe"],
    ["SIGNALBOX_BRIDGE_REMIND_MINUTES", "-1"],
    ["SIGNALBOX_BRIDGE_REMIND_MINUTES", "soon"],
  ])("rejects %s=%s and names the setting", (name, value) => {
    const read = () => readSettings({ [name]: value });
    expect(read).toThrow(SettingsError);
    expect(read).toThrow(name);
  });
});
