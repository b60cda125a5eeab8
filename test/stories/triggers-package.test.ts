/** The package `@signalbox/triggers` as authors of trigger servers install it, also on Node 20. */
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { testTriggers } from "@signalbox/triggers/testing";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import { installNode } from "../support/install-node.ts";
import { WAIT } from "../support/timeouts.ts";

const run = promisify(execFile);
const root = fileURLToPath(new URL("../..", import.meta.url));
let folder: string;
/** The folder of the installed package. */
let installed: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "triggers-package-"));
  const { stdout } = await run("npm", ["pack", "--json", "--pack-destination", folder], {
    cwd: join(root, "packages/triggers"),
  });
  const [{ filename }] = JSON.parse(stdout) as [{ filename: string }];
  await run("tar", ["xzf", filename], { cwd: folder });
  installed = join(folder, "node_modules/@signalbox/triggers");
  mkdirSync(join(folder, "node_modules/@signalbox"), { recursive: true });
  renameSync(join(folder, "package"), installed);
  // Links the author's own dependencies. All of them share one copy of Zod, as npm installs it.
  for (const name of ["zod", "@modelcontextprotocol", "@hono", "@types"])
    symlinkSync(join(root, "node_modules", name), join(folder, "node_modules", name));
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type: "module" }));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe("the packed files", () => {
  const readScripts = () =>
    readdirSync(join(installed, "dist"))
      .filter((name) => name.endsWith(".js"))
      .map((name) => ({ name, text: readFileSync(join(installed, "dist", name), "utf8") }));
  const importsOf = (text: string) =>
    [...text.matchAll(/(?:from|import)\s*\(?\s*"([^"]+)"/g)].map(([, name]) => name ?? "");

  it("are the build, the README, the license and the manifest", () => {
    const names = readdirSync(installed, { recursive: true }).map(String);
    const files = names.filter((name) => name !== "dist");
    for (const name of files)
      expect(name).toMatch(/^(?:package\.json|README\.md|LICENSE|dist\/[a-z-]+\.(?:js|d\.ts))$/);
    expect(files).toContain("README.md");
    for (const entry of ["index", "node", "testing"])
      expect(files).toEqual(expect.arrayContaining([`dist/${entry}.js`, `dist/${entry}.d.ts`]));
  });

  it("contain no code of the hub, and import only Zod and Node", () => {
    for (const { name, text } of readScripts()) {
      expect(text, name).not.toMatch(/packages\/(?:hub|rules)|\.\.\/\.\.\/(?:hub|rules)/);
      for (const imported of importsOf(text))
        expect(imported, name).toMatch(/^(?:zod$|node:|\.\/)/);
    }
  });

  it("use no module of Node in the root entry or its imports", () => {
    const textByName = new Map(readScripts().map(({ name, text }) => [`./${name}`, text]));
    const visited = new Set<string>();
    const visit = (name: string) => {
      if (visited.has(name)) return;
      visited.add(name);
      for (const imported of importsOf(textByName.get(name) ?? "")) visit(imported);
    };
    visit("./index.js");
    expect([...visited].filter((name) => name.startsWith("node:"))).toEqual([]);
    expect(visited).toContain("zod");
  });
});

const SERVER_CODE = `
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { createTriggers } from "@signalbox/triggers";
import { fileStorage } from "@signalbox/triggers/node";
import { testTriggers } from "@signalbox/triggers/testing";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import { z } from "zod";

const triggers = createTriggers({
  definitions: [{ type: "tick", description: "Ticks.", params: z.object({ level: z.enum(["low", "high"]) }) }],
  storage: fileStorage(process.argv[2]),
  retry: { firstMs: 5, maxMs: 20 },
});
const http = createServer(async (request, response) => {
  const server = new McpServer({ name: "ticks", version: "1.0.0" });
  for (const { name, config, handler } of triggers.tools()) server.registerTool(name, config, handler);
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined });
  await server.connect(transport);
  await transport.handleRequest(request, response);
});
await new Promise((resolve) => http.listen(0, "127.0.0.1", resolve));
const report = await testTriggers(\`http://127.0.0.1:\${http.address().port}/mcp\`, {
  quietMs: 100,
  fire: ({ connectionId, type, params }) => triggers.notify(connectionId, type, params),
});
assert.deepEqual(report.checks.filter(({ status }) => status === "failed"), []);
await triggers.close();
http.closeAllConnections();
http.close();
console.log(process.version, "ok");
`;

// The package says that it supports Node 20 and later.
it.each(["20.0.0", process.versions.node])(
  "a server that passes the contract kit runs on Node %s",
  async (version) => {
    const node = version === process.versions.node ? process.execPath : await installNode(version);
    writeFileSync(join(folder, "server.js"), SERVER_CODE);
    const { stdout } = await run(node, ["server.js", `state-${version}.json`], { cwd: folder });
    expect(stdout.trim().split("\n").at(-1)).toBe(`v${version} ok`);
  },
);

const AUTHOR_CODE = `
import { createTriggers, defineTrigger, sqliteStorage } from "@signalbox/triggers";
import { fileStorage } from "@signalbox/triggers/node";
import { testTriggers } from "@signalbox/triggers/testing";
import { McpServer as McpServer1 } from "@modelcontextprotocol/sdk/server/mcp.js";
import { McpServer as McpServer2 } from "@modelcontextprotocol/server";
import { DatabaseSync } from "node:sqlite";
import { z } from "zod";

const issue = defineTrigger({
  type: "issue",
  description: "A new issue.",
  params: z.object({ repo: z.string() }),
  payload: z.object({ repo: z.string(), title: z.string().optional() }),
  onSubscribe: ({ params }) => params.repo.toUpperCase(),
});
const triggers = createTriggers({ definitions: [issue], storage: fileStorage("x.json") });
createTriggers({ definitions: [issue], storage: sqliteStorage(new DatabaseSync(":memory:")) });
await triggers.notify("c", "issue", { repo: "a/b" });
// @ts-expect-error
await triggers.notify("c", "issue", { repo: 1 });
// @ts-expect-error
await triggers.notify("c", "other", {});
const info = { name: "a", version: "1.0.0" };
for (const { name, config, handler } of triggers.tools()) {
  new McpServer1(info).registerTool(name, config, handler);
  new McpServer2(info).registerTool(name, config, handler);
}
const { ok }: { ok: boolean } = await testTriggers("http://127.0.0.1:1/mcp");
`;

it("the server in the guide passes checks of the contract kit, and sends events", async () => {
  const guide = readFileSync(join(root, "docs/trigger-servers.md"), "utf8");
  const server = /```js\n(.*?)```/s.exec(guide)?.[1] ?? "";
  const port = await findFreePort();
  writeFileSync(
    join(folder, "guide.js"),
    server.replace("port: 3000", `port: ${port}`).replace("10_000", "50"),
  );
  const child = spawn(process.execPath, ["guide.js"], { cwd: folder, stdio: "inherit" });
  try {
    const url = `http://127.0.0.1:${port}/mcp`;
    await vi.waitFor(() => fetch(url), WAIT);
    // The server sends events with its own timer, so `fire` has nothing to do.
    const { checks } = await testTriggers(url, { print: () => {}, fire: () => {} });
    const passed = checks.filter(({ status }) => status === "passed").map(({ name }) => name);
    expect(passed).toContain("rejects invalid params, and names the field");
    expect(passed).toContain("sends an event with token, type, data and id");
  } finally {
    const ended = once(child, "exit");
    child.kill();
    await ended;
  }
});

// With the default storage, `notify` resolves only when the event is delivered.
it.each(["file storage", "default storage"])(
  "the code of the guide tests the server of the guide with the %s",
  async (storage) => {
    const guide = readFileSync(join(root, "docs/trigger-servers.md"), "utf8");
    const [server = ""] = (/```js\n(.*?)```/s.exec(guide)?.[1] ?? "").split("setInterval(");
    const [code = ""] = /import \{ testTriggers \}.*?(?=```)/s.exec(guide) ?? [];
    const url = `127.0.0.1:${await findFreePort()}`;
    const text = `${server}\n${code}\nconsole.log({ ok });\nprocess.exit();`
      .replace("port: 3000", `port: ${url.split(":")[1]}`)
      .replace("127.0.0.1:3000", url)
      .replace("triggers.json", "guide-test.json");
    writeFileSync(
      join(folder, "guide-test.js"),
      storage === "default storage" ? text.replace(/^ *storage: .*$/m, "") : text,
    );
    const { stdout } = await run(process.execPath, ["guide-test.js"], { cwd: folder });
    expect(stdout).toContain("✓ keeps an event after 401 until a valid token arrives");
    expect(stdout).not.toContain("✗");
    expect(stdout).toMatch(/\{ ok: true \}$/m);
  },
);

async function findFreePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, "close");
  return port;
}

it("the types of the package compile in an author's project with both versions of the MCP SDK", async () => {
  writeFileSync(join(folder, "author.ts"), AUTHOR_CODE);
  const options = ["--noEmit", "--strict", "--module", "nodenext", "--target", "es2023"];
  const tsc = join(root, "node_modules/.bin/tsc");
  const compile = run(tsc, [...options, "--skipLibCheck", "--types", "node", "author.ts"], {
    cwd: folder,
  });
  expect((await compile.catch((error) => error)).stdout).toBe("");
});
