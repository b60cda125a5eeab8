/** Calls MCP servers that run as commands. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import {
  callOptions,
  catchError,
  newConnection,
  openConnections,
} from "../../../../../test/support/open-connections.ts";
import { tempFolder } from "../../../../../test/support/temp-folder.ts";
import { WAIT } from "../../../../../test/support/timeouts.ts";
import { openCommand } from "./ports.ts";

/** Writes the code of an MCP server whose one tool returns the value of an expression. Returns the path. */
function writeServer(expression: string): string {
  const file = join(tempFolder(), "server.mjs");
  writeFileSync(
    file,
    `import { createInterface } from "node:readline";
    const send = (message) => console.log(JSON.stringify({ jsonrpc: "2.0", ...message }));
    createInterface({ input: process.stdin }).on("line", (line) => {
      const { id, method, params } = JSON.parse(line);
      if (id === undefined) return;
      if (method === "initialize")
        return send({ id, result: {
          protocolVersion: params.protocolVersion,
          capabilities: { tools: {} },
          serverInfo: { name: "command", version: "1" },
        } });
      if (method === "tools/list")
        return send({ id, result: {
          tools: [{ name: "run", inputSchema: { type: "object" }, description: process.env.TEXT?.repeat(1e6) }],
          ...(process.env.TEXT ? { nextCursor: String(Math.random()) } : {}),
        } });
      if (method !== "tools/call")
        return send({ id, error: { code: -32601, message: "Method not found" } });
      const value = ${expression};
      send({ id, result: { content: [], structuredContent: value } });
    });`,
  );
  return file;
}

const run = { tool: "run", arguments: {} };
const connect = async (args: string[], env = {}) =>
  newConnection({ command: process.execPath, args }, { env });

it("runs a command without a shell, with PATH, HOME and the variables of the connection only", async () => {
  vi.stubEnv("SIGNALBOX_KEY", "secret");
  const connections = openConnections({ openCommand });
  const file = writeServer("{ args: process.argv.slice(2), env: process.env, pid: process.pid }");
  const connection = await connect([file, "$HOME; echo"], { WEATHER_KEY: "k" });
  const { structuredContent } = await connections.callTool(connection, run, callOptions());
  expect(structuredContent).toMatchObject({ args: ["$HOME; echo"] });
  const env = structuredContent?.env as Record<string, string>;
  expect(env).toMatchObject({ WEATHER_KEY: "k", PATH: process.env.PATH });
  expect(
    Object.keys(env).filter((name) => !["HOME", "PATH", "WEATHER_KEY"].includes(name)),
  ).toEqual([]);
  expect((await connections.loadOffers(connection, callOptions())).tools).toHaveLength(1);
  expect(connections.openedCount()).toBe(1);
  const pid = structuredContent?.pid as number;
  await connections.close();
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow(), WAIT);
});

it("quotes the error output of a command that ends, and starts it again", async () => {
  const connections = openConnections({ openCommand });
  const file = writeServer('(console.error("no key for WEATHER"), process.exit(3))');
  const connection = await connect([file]);
  expect(await catchError(connections.callTool(connection, run, callOptions()))).toMatchObject({
    code: "unreachable",
    message: "The server closed the connection. It wrote: no key for WEATHER",
  });
  expect((await connections.loadOffers(connection, callOptions())).tools).toHaveLength(1);
  expect(connections.openedCount()).toBe(2);
});

it("limits the size of a list", async () => {
  const connection = await connect([writeServer("0")], { TEXT: "x" });
  const connections = openConnections({ openCommand });
  expect(await catchError(connections.loadOffers(connection, callOptions()))).toMatchObject({
    code: "too_large",
    message: "The server's answer exceeds the limit of 4 MiB.",
  });
});

it("reports a command that fails to start", async () => {
  const connections = openConnections({ openCommand });
  const missing = await newConnection({ command: "/no/such/command", args: [] });
  expect(await catchError(connections.callTool(missing, run, callOptions()))).toMatchObject({
    code: "invalid_target",
    message: expect.stringContaining("ENOENT"),
  });
  const broken = await connect(["-e", "console.error('out of luck'); process.exit(1)"]);
  const error = await catchError(connections.callTool(broken, run, callOptions()));
  expect(error.message).toContain("out of luck");
});
