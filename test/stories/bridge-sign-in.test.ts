/** The built bridge has no token. The user signs in to a real hub, with a link or with a code. */
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

async function startHubWithBrowser() {
  const { hub } = await startApi();
  const home = tempFolder();
  // If DISPLAY is set, the bridge assumes that it can open a browser.
  const env = { PATH: process.env.PATH ?? "", HOME: home, SIGNALBOX_URL: hub.url, DISPLAY: ":0" };
  return { hub, home, env, browser: await signInBrowser(hub.url, ADMIN) };
}

it("the bridge returns a sign-in link in errors, works after the user has signed in there, and signs out", async () => {
  const { hub, home, env, browser } = await startHubWithBrowser();
  const announced: string[] = [];
  const client = new Client({ name: "story", version: "1" });
  client.fallbackNotificationHandler = async ({ method, params }) => {
    if (method === "notifications/claude/channel") announced.push(JSON.stringify(params));
  };
  const command = { command: process.execPath, args: [BRIDGE], env, stderr: "ignore" as const };
  await client.connect(new StdioClientTransport(command));
  onTestFinished(() => client.close());
  const callStatusTool = async () => {
    const { isError, content } = await client.callTool({ name: "get_pending_status" });
    return { isError: isError === true, text: JSON.stringify(content) };
  };
  const beforeSignIn = await callStatusTool();
  expect(beforeSignIn).toMatchObject({
    isError: true,
    text: expect.stringContaining("Sign in to the hub"),
  });
  const link = /open (http\S+)/.exec(beforeSignIn.text)?.[1] ?? "";
  const page = await fetch(link, { redirect: "manual" });
  const consentResponse = await browser.decide(new URL(page.headers.get("location") ?? ""));
  const finalPage = await fetch(consentResponse.headers.get("location") ?? "");
  expect(await finalPage.text()).toContain("You are signed in");

  await expect.poll(callStatusTool).toMatchObject({ isError: false });
  const folder = join(home, ".signalbox", "bridge");
  const [file = ""] = readdirSync(folder).filter((name) => name.endsWith(".tokens.json"));
  expect(statSync(join(folder, file)).mode & 0o777).toBe(0o600);
  // The bridge also follows the event stream with the new token.
  const adminEnv = { SIGNALBOX_URL: hub.url, SIGNALBOX_TOKEN: ADMIN };
  await expect
    .poll(async () => {
      await runCli(["send", "github", "issues", "--action", "opened"], { env: adminEnv });
      return announced.join();
    })
    .toContain("issues opened");

  const { code, stdout } = await runCli(["bridge", "sign-out"], { env });
  expect([code, stdout]).toEqual([0, expect.stringContaining("You are signed out")]);
  expect(readdirSync(folder)).not.toContain(file);
  expect(await callStatusTool()).toMatchObject({
    isError: true,
    text: expect.stringContaining("Sign in"),
  });
});

it("the bridge signs in with a code that the user enters on another machine", async () => {
  const { hub, env, browser } = await startHubWithBrowser();
  const child = spawn(process.execPath, [BRIDGE, "sign-in", "--device"], {
    env,
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [firstOutput] = (await once(child.stdout, "data")) as [Buffer];
  const [, page = "", userCode = ""] =
    /open (\S+) in any browser and enter the code (\S+)\. /.exec(String(firstOutput)) ?? [];
  expect(String(firstOutput)).toContain("waits until you are signed in");
  expect(String(firstOutput)).not.toContain("try again");
  expect(page).toBe(`${hub.url}/oauth/device`);
  await browser.decide(new URL(`${page}?user_code=${userCode}`));
  expect(await text(child.stdout)).toContain("You are signed in");
  expect(child.exitCode ?? (await once(child, "exit"))[0]).toBe(0);
});
