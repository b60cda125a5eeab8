import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { unzipSync } from "fflate";
import { expect, it, onTestFinished } from "vitest";
import { ADMIN, startApi } from "../../../test/support/api-client.ts";
import { deliver, issueOpened } from "../../../test/support/deliver.ts";
import { installNode } from "../../../test/support/install-node.ts";
import { signInBrowser } from "../../../test/support/oauth-browser.ts";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import packageManifest from "../package.json" with { type: "json" };
import { version } from "./version.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));

interface Manifest {
  version: string;
  server: { mcp_config: { command: string; args: string[]; env: Record<string, string> } };
  user_config: Record<string, { default?: string }>;
  compatibility: { runtimes: { node: string } };
}

interface Program {
  args: string[];
  env: Record<string, string>;
}

/** Packs the bundle, and unpacks it into a new folder. */
function unpackBundle() {
  const folder = tempFolder();
  const packed = join(folder, "signalbox.mcpb");
  execFileSync(process.execPath, [join(root, "packages/bridge/src/pack-mcpb.ts"), packed]);
  for (const [name, bytes] of Object.entries(unzipSync(readFileSync(packed)))) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), bytes);
  }
  const manifest: Manifest = JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8"));
  return {
    folder,
    manifest,
    /** Replaces placeholders with the user's value or the default, as Claude Desktop does. */
    configure(given: Record<string, string>): Program {
      const fill = (text: string) =>
        text
          .replaceAll(/\$\{__dirname\}/g, () => folder)
          .replaceAll(
            /\$\{user_config\.(\w+)\}/g,
            (_, name: string) =>
              given[name] ?? manifest.user_config[name]?.default ?? `missing ${name}`,
          );
      const { command, args, env } = manifest.server.mcp_config;
      expect(command).toBe("node");
      return {
        args: args.map(fill),
        env: Object.fromEntries(Object.entries(env).map(([name, text]) => [name, fill(text)])),
      };
    },
  };
}

/** Starts the bridge, and connects a client to it over stdio. */
async function connect(node: string, { args, env }: Program) {
  const client = new Client({ name: "test", version: "1" });
  const announced: string[] = [];
  client.fallbackNotificationHandler = async ({ method, params }) => {
    if (method === "notifications/claude/channel") announced.push(JSON.stringify(params));
  };
  onTestFinished(() => client.close());
  const state = { SIGNALBOX_BRIDGE_STATE: tempFolder() };
  await client.connect(
    new StdioClientTransport({ command: node, args, env: { ...env, ...state }, stderr: "ignore" }),
  );
  return { client, announced };
}

it("packs a bundle that starts without installed packages and with the user's settings", async () => {
  const { folder, manifest, configure } = unpackBundle();
  expect(manifest.version).toBe(version);
  expect(manifest.compatibility.runtimes.node).toBe(packageManifest.engines.node);
  expect(readFileSync(join(folder, "THIRD-PARTY-LICENSES.txt"), "utf8")).toMatch(
    /^zod \S+ \(MIT\)$/m,
  );

  const bundle = configure({ url: "http://127.0.0.1:9", token: "sbx_x" });
  const { client } = await connect(process.execPath, bundle);
  expect(client.getServerVersion()).toMatchObject({ name: "signalbox", version });
  expect(client.getServerCapabilities()?.experimental).toEqual({ "claude/channel": {} });
  expect(await client.callTool({ name: "get_pending_status", arguments: {} })).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining("http://127.0.0.1:9 cannot be reached") }],
  });
});

// Node 18.17 is the oldest version that `engines` allows. Node 20.0 lacks functions that 18.17 has.
const nodes: [version: string, findNode: () => string | Promise<string>][] = [
  ["18.17.0", () => installNode("18.17.0")],
  ["20.0.0", () => installNode("20.0.0")],
  ["22.15.0", () => join(root, "test/node-22/node_modules/node/bin/node")],
];

it.each(nodes)(
  "the bundle and the package sign in, call a tool and announce events on Node %s",
  async (nodeVersion, findNode) => {
    const [node, { hub }] = await Promise.all([findNode(), startApi()]);
    expect(execFileSync(node, ["--version"], { encoding: "utf8" }).trim()).toBe(`v${nodeVersion}`);
    const browser = await signInBrowser(hub.url, ADMIN);

    const storyOf = async ({ args, env }: Program) => {
      // If DISPLAY is set, the bridge assumes that it can open a browser.
      const { client, announced } = await connect(node, { args, env: { ...env, DISPLAY: ":0" } });
      const callStatusTool = async () => {
        const { isError, content } = await client.callTool({ name: "get_pending_status" });
        return { isError: isError === true, text: JSON.stringify(content) };
      };
      const link = /open (http\S+)/.exec((await callStatusTool()).text)?.[1] ?? "";
      const page = await fetch(link, { redirect: "manual" });
      const consented = await browser.decide(new URL(page.headers.get("location") ?? ""));
      const signedIn = await fetch(consented.headers.get("location") ?? "");
      expect(await signedIn.text()).toContain("You are signed in");
      await expect.poll(callStatusTool).toMatchObject({ isError: false });
      // The bridge announces no event before its client has these lists.
      await Promise.all([client.listTools(), client.listPrompts(), client.listResources()]);
      await expect
        .poll(async () => {
          await deliver(hub.url);
          return announced.join();
        })
        .toContain(issueOpened.issue.title);
    };
    const bin = join(root, "packages/bridge/bin/signalbox-bridge.js");
    await Promise.all([
      storyOf(unpackBundle().configure({ url: hub.url })),
      storyOf({ args: [bin], env: { SIGNALBOX_URL: hub.url } }),
    ]);
  },
);
