/** The built bridge without a token: the user signs in at a real hub, by browser or by code. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { expect, it, onTestFinished } from "vitest";
import { ADMIN, startApi } from "../support/api-client.ts";
import { runCli } from "../support/hub-process.ts";
import { signInBrowser } from "../support/oauth-browser.ts";
import { tempFolder } from "../support/temp-folder.ts";

const BRIDGE = fileURLToPath(
  new URL("../../packages/bridge/bin/signalbox-bridge.js", import.meta.url),
);

async function start() {
  const { hub } = await startApi();
  const home = tempFolder();
  // With a display, the bridge assumes a browser.
  const env = { PATH: process.env.PATH ?? "", HOME: home, SIGNALBOX_URL: hub.url, DISPLAY: ":0" };
  return { hub, home, env, browser: await signInBrowser(hub.url, ADMIN) };
}

it("offers a link in its errors, works after the user has opened it, and signs out", async () => {
  const { hub, home, env, browser } = await start();
  const announced: string[] = [];
  const client = new Client({ name: "story", version: "1" });
  client.fallbackNotificationHandler = async ({ method, params }) => {
    if (method === "notifications/claude/channel") announced.push(JSON.stringify(params));
  };
  const command = { command: process.execPath, args: [BRIDGE], env, stderr: "ignore" as const };
  await client.connect(new StdioClientTransport(command));
  onTestFinished(() => client.close());
  const status = async () => {
    const { isError, content } = await client.callTool({ name: "get_pending_status" });
    return { isError: isError === true, said: JSON.stringify(content) };
  };
  const asked = await status();
  expect(asked).toMatchObject({
    isError: true,
    said: expect.stringContaining("Sign in to the hub"),
  });
  const link = /open (http\S+)/.exec(asked.said)?.[1] ?? "";
  const page = await fetch(link, { redirect: "manual" });
  const decided = await browser.decide(new URL(page.headers.get("location") ?? ""));
  const returned = await fetch(decided.headers.get("location") ?? "");
  expect(await returned.text()).toContain("You are signed in");

  await expect.poll(status).toMatchObject({ isError: false });
  const folder = join(home, ".signalbox", "bridge");
  const [file = ""] = readdirSync(folder).filter((name) => name.endsWith(".tokens.json"));
  expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
  // The stream of events has another path than the tools, and the same token.
  const cli = { SIGNALBOX_URL: hub.url, SIGNALBOX_TOKEN: ADMIN };
  await expect
    .poll(async () => {
      await runCli(["send", "github", "issues", "--action", "opened"], { env: cli });
      return announced.join();
    })
    .toContain("issues opened");

  const { code, stdout } = await runCli(["bridge", "sign-out"], { env });
  expect([code, stdout]).toEqual([0, expect.stringContaining("You are signed out")]);
  expect(readdirSync(folder)).not.toContain(file);
  expect(await status()).toMatchObject({ isError: true, said: expect.stringContaining("Sign in") });
});

it("signs in by a code that the user enters on another machine", async () => {
  const { hub, env, browser } = await start();
  const child = spawn(process.execPath, [BRIDGE, "sign-in", "--device"], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [first] = (await once(child.stdout, "data")) as [Buffer];
  const [, page = "", userCode = ""] =
    /open (\S+) in any browser and enter the code (\S+)\. /.exec(String(first)) ?? [];
  expect(String(first)).toContain("waits until you are signed in");
  expect(String(first)).not.toContain("try again");
  expect(page).toBe(`${hub.url}/oauth/device`);
  await browser.decide(new URL(`${page}?user_code=${userCode}`));
  expect(await text(child.stdout)).toContain("You are signed in");
  expect(child.exitCode ?? (await once(child, "exit"))[0]).toBe(0);
});
