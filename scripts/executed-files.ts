/**
 * `node scripts/executed-files.ts`: prints the source files of which a function is executed for a request, to follow
 * the data. It starts a hub from the source, repeats each request until all modules are loaded, and then
 * reads V8's coverage of one request. The sandbox's processes are not included.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import WebSocket from "ws";
import { deliver, SECRET } from "../test/support/deliver.ts";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const TOKEN = "sbx_executed_files_0123456789abcdef";

export interface ExecutedFiles {
  request: string;
  files: string[];
}

interface FunctionCoverage {
  ranges: { count: number }[];
}
interface Coverage {
  result: { url: string; functions: FunctionCoverage[] }[];
}

interface Hub {
  process: ChildProcess;
  url: string;
  inspector: string;
  folder: string;
}

async function startHub(): Promise<Hub> {
  const folder = mkdtempSync(join(tmpdir(), "signalbox-executed-"));
  const child = spawn(
    process.execPath,
    ["--inspect=127.0.0.1:0", join(ROOT, "packages/hub/src/hosts/cli.ts"), "serve"],
    {
      env: {
        PATH: process.env.PATH,
        PORT: "0",
        SIGNALBOX_DATA: folder,
        SIGNALBOX_TOKEN: TOKEN,
        SIGNALBOX_LOG_FORMAT: "json",
        GITHUB_WEBHOOK_SECRET: SECRET,
      },
      stdio: ["ignore", "pipe", "pipe"],
    },
  );
  let output = "";
  const found = Promise.withResolvers<{ url: string; inspector: string }>();
  const read = (chunk: Buffer) => {
    output += chunk;
    const url = /"url":"([^"]+)"/.exec(output)?.[1];
    const inspector = /ws:\S+/.exec(output)?.[0];
    if (url && inspector) found.resolve({ url, inspector });
  };
  child.stdout.on("data", read);
  child.stderr.on("data", read);
  child.once("exit", () => found.reject(new Error(`The hub has ended:\n${output}`)));
  return { process: child, folder, ...(await found.promise) };
}

/** Calls methods of the Chrome DevTools Protocol. */
async function connectInspector(url: string) {
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => socket.once("open", resolve).once("error", reject));
  let lastId = 0;
  const pending = new Map<number, (result: unknown) => void>();
  socket.on("message", (data) => {
    const { id, result } = JSON.parse(String(data));
    pending.get(id)?.(result);
    pending.delete(id);
  });
  return {
    call: <Result>(method: string, params = {}) =>
      new Promise<Result>((resolve) => {
        lastId += 1;
        pending.set(lastId, resolve as (result: unknown) => void);
        socket.send(JSON.stringify({ id: lastId, method, params }));
      }),
    close: () => socket.close(),
  };
}

const sourcePath = (url: string): string | undefined => {
  const path = url.startsWith("file:") ? relative(ROOT, fileURLToPath(url)) : "";
  return /^packages\/[^/]+\/src\//.test(path) ? path : undefined;
};

/** The files of the functions that were called since the last call of this function. */
const executedIn = ({ result }: Coverage): string[] =>
  result
    .filter(({ functions }) => functions.some(({ ranges }) => (ranges[0]?.count ?? 0) > 0))
    .flatMap(({ url }) => sourcePath(url) ?? [])
    .toSorted();

/** Publishes a flow with two nodes, whose trigger is an event or a tool. */
async function createFlow(hub: Hub, trigger: object): Promise<void> {
  const post = async (path: string, body: object) => {
    const response = await fetch(`${hub.url}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`POST ${path}: ${await response.text()}`);
    return (await response.json()) as { id: string };
  };
  const end = { id: "end", type: "Return", name: "End", parameters: { value: "done" } };
  const edge = { source: "on", sourceHandle: "out", target: "end", targetHandle: "in" };
  const { id } = await post("/api/apps/counted/flows", {
    name: "Counted",
    nodes: [{ id: "on", ...trigger }, end],
    edges: [edge],
  });
  await post(`/api/flows/${id}/publish`, {});
}

const WARM_UPS = 5;
/** The runs that a request starts have ended after this time, on an idle machine. */
const SETTLED_MS = 1_000;
const settle = () => new Promise((resolve) => setTimeout(resolve, SETTLED_MS));

export async function countExecutedFiles(): Promise<ExecutedFiles[]> {
  const hub = await startHub();
  const inspector = await connectInspector(hub.inspector);
  const client = new Client({ name: "executed-files", version: "1" });
  try {
    await fetch(`${hub.url}/api/apps`, {
      method: "POST",
      headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
      body: JSON.stringify({ slug: "counted", name: "Counted" }),
    });
    await createFlow(hub, {
      type: "Event",
      name: "On issue",
      parameters: { source: "github", type: "issues" },
    });
    await createFlow(hub, {
      type: "UserIntent",
      name: "say_done",
      parameters: { toolDescription: "Says done.", parameters: [] },
    });
    const send = (type: string) => async () => {
      const { status } = await deliver(hub.url, { type });
      if (status !== 202) throw new Error(`The webhook was answered with ${status}.`);
    };
    // Connects the client here, since the hub checks the tokens of connected clients regularly.
    const findTool = async () => {
      await client.connect(
        new StreamableHTTPClientTransport(new URL(`${hub.url}/mcp/counted`), {
          requestInit: { headers: { authorization: `Bearer ${TOKEN}` } },
        }),
      );
      return (await client.listTools()).tools[0]?.name ?? "";
    };
    let tool: string | undefined;
    const requests = {
      "a webhook that no flow wants": send("label"),
      "a webhook that runs a flow of two nodes": send("issues"),
      "a tools/call of a flow of two nodes": async () => {
        tool ??= await findTool();
        const { isError } = await client.callTool({ name: tool, arguments: {} });
        if (isError) throw new Error("The tool has failed.");
      },
    };
    await inspector.call("Profiler.enable");
    await inspector.call("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
    const counted: ExecutedFiles[] = [];
    for (const [request, run] of Object.entries(requests)) {
      for (let round = 0; round < WARM_UPS; round += 1) await run();
      await settle();
      await inspector.call("Profiler.takePreciseCoverage");
      await run();
      await settle();
      const coverage = await inspector.call<Coverage>("Profiler.takePreciseCoverage");
      counted.push({ request, files: executedIn(coverage) });
    }
    return counted;
  } finally {
    await client.close();
    inspector.close();
    const exited = new Promise((resolve) => hub.process.once("exit", resolve));
    hub.process.kill();
    await exited;
    rmSync(hub.folder, { recursive: true, force: true });
  }
}

if (import.meta.main)
  for (const { request, files } of await countExecutedFiles())
    console.log(
      `${request}: ${files.length} files\n${files.map((file) => `  ${file}\n`).join("")}`,
    );
