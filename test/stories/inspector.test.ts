/** Runs the CLI of MCP Inspector against a hub. */
import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { deliver, SECRET } from "../support/deliver.ts";
import { startHubProcess } from "../support/hub-process.ts";
import { tempFolder } from "../support/temp-folder.ts";

const INSPECTOR = fileURLToPath(
  import.meta.resolve("@modelcontextprotocol/inspector/clients/launcher/build/index.js"),
);
const TOKEN = "sbx_inspector_story";

it("MCP Inspector lists the tools of a hub and calls one, and fails with a wrong token", async () => {
  const hub = await startHubProcess({
    data: tempFolder(),
    env: { GITHUB_WEBHOOK_SECRET: SECRET, SIGNALBOX_TOKEN: TOKEN },
  });
  onTestFinished(async () => void (await hub.stop()));
  expect((await deliver(hub.url)).status).toBe(202);
  const home = tempFolder();
  const inspect = async (token: string, method: string, ...options: string[]) => {
    const server = [`${hub.url}/mcp`, "--transport", "http"];
    const header = ["--header", `Authorization: Bearer ${token}`];
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [INSPECTOR, "--cli", ...server, "--method", method, ...options, ...header],
      // The Inspector writes a file to the home folder.
      { env: { PATH: process.env.PATH, HOME: home }, timeout: 100_000 },
    );
    return JSON.parse(stdout);
  };
  const { tools } = await inspect(TOKEN, "tools/list");
  expect(tools.map(({ name }: { name: string }) => name)).toContain("get_pending_status");
  expect(await inspect(TOKEN, "tools/call", "--tool-name", "get_pending_status")).toMatchObject({
    structuredContent: { pending_count: 1, types: { issues: 1 } },
  });
  await expect(inspect("wrong-token", "tools/list")).rejects.toThrow();
});
