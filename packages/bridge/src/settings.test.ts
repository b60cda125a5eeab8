import { describe, expect, it } from "vitest";
import { readSettings, SettingsError } from "./settings.ts";

const url = { WEBHOOK_WORKER_URL: "http://127.0.0.1:4747" };

describe("readSettings", () => {
  it("requires only the hub's URL", () => {
    expect(readSettings(url, "/home/mona")).toEqual({
      url: "http://127.0.0.1:4747",
      token: undefined,
      channel: true,
      senders: undefined,
      stateFolder: "/home/mona/.signalbox/bridge",
      remindMs: 600_000,
    });
  });

  it("reads the other settings", () => {
    expect(
      readSettings({
        WEBHOOK_WORKER_URL: " https://hub.example/box/mcp/ ",
        SIGNALBOX_TOKEN: "sbx_1",
        WEBHOOK_CHANNEL: "0",
        WEBHOOK_CHANNEL_SENDERS: "mona, *[bot],",
        SIGNALBOX_BRIDGE_STATE: "/tmp/x",
        SIGNALBOX_BRIDGE_REMIND_MINUTES: "0",
      }),
    ).toEqual({
      url: "https://hub.example/box",
      token: "sbx_1",
      channel: false,
      senders: ["mona", "*[bot]"],
      stateFolder: "/tmp/x",
      remindMs: 0,
    });
  });

  it("treats an unreplaced placeholder as unset", () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a placeholder of an MCP client
    const placeholder = "${user_config.senders}";
    expect(readSettings({ ...url, WEBHOOK_CHANNEL_SENDERS: placeholder }).senders).toBeUndefined();
  });

  it.each([
    ["WEBHOOK_WORKER_URL", undefined],
    ["WEBHOOK_WORKER_URL", "  "],
    ["WEBHOOK_WORKER_URL", "hub.example"],
    ["WEBHOOK_WORKER_URL", "ftp://hub.example"],
    ["WEBHOOK_WORKER_URL", "https://user:pw@hub.example"],
    ["SIGNALBOX_TOKEN", "two words"],
    ["WEBHOOK_CHANNEL", "maybe"],
    ["SIGNALBOX_BRIDGE_REMIND_MINUTES", "-1"],
    ["SIGNALBOX_BRIDGE_REMIND_MINUTES", "soon"],
  ])("rejects %s=%s and names the setting", (name, value) => {
    const read = () => readSettings({ ...url, [name]: value });
    expect(read).toThrow(SettingsError);
    expect(read).toThrow(name);
  });
});
