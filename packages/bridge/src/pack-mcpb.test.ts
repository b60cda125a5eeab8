import { execFileSync } from "node:child_process";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { unzipSync } from "fflate";
import { expect, it, onTestFinished } from "vitest";
import { tempFolder } from "../../../test/support/temp-folder.ts";
import { version } from "./version.ts";

interface Manifest {
  version: string;
  server: { mcp_config: { command: string; args: string[]; env: Record<string, string> } };
  user_config: Record<string, { default?: string }>;
}

it("packs a bundle that starts without installed packages and with the user's settings", async () => {
  const folder = tempFolder();
  const packed = join(folder, "signalbox.mcpb");
  const script = fileURLToPath(new URL("pack-mcpb.ts", import.meta.url));
  execFileSync(process.execPath, [script, packed]);
  for (const [name, bytes] of Object.entries(unzipSync(readFileSync(packed)))) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), bytes);
  }
  const manifest: Manifest = JSON.parse(readFileSync(join(folder, "manifest.json"), "utf8"));
  expect(manifest.version).toBe(version);
  expect(readFileSync(join(folder, "THIRD-PARTY-LICENSES.txt"), "utf8")).toMatch(
    /^zod \S+ \(MIT\)$/m,
  );

  // Claude Desktop replaces placeholders with the user's value or the default.
  const given: Record<string, string> = { url: "http://127.0.0.1:9", token: "sbx_x" };
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
  const client = new Client({ name: "test", version: "1" });
  onTestFinished(() => client.close());
  await client.connect(
    new StdioClientTransport({
      command: process.execPath,
      args: args.map(fill),
      env: {
        SIGNALBOX_BRIDGE_STATE: join(folder, "state"),
        ...Object.fromEntries(Object.entries(env).map(([name, value]) => [name, fill(value)])),
      },
      stderr: "ignore",
    }),
  );
  expect(client.getServerVersion()).toMatchObject({ name: "signalbox", version });
  expect(client.getServerCapabilities()?.experimental).toEqual({ "claude/channel": {} });
  expect(await client.callTool({ name: "get_pending_status", arguments: {} })).toMatchObject({
    isError: true,
    content: [{ text: expect.stringContaining("http://127.0.0.1:9 cannot be reached") }],
  });
});
