/**
 * What the code blocks of the documentation need: a hub in a temporary folder that looks like a checkout, the
 * MCP server of the examples, and stand-ins for the programs that the pages start.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { expect } from "vitest";
import { startHubProcess } from "../hub-process.ts";
import { MAX_WAIT_MS } from "../timeouts.ts";
import { startWeatherServer } from "./weather-server.ts";

export const ROOT = join(import.meta.dirname, "../../..");
const TOKEN = "the-admin-token-of-the-documentation";

/** Each prints or stores what it gets, so that a test can see that it was started. */
const STAND_INS: Record<string, string> = {
  ...Object.fromEntries(
    ["claude", "codex", "gemini"].map((agent) => [
      agent,
      `printf '%s\\n' "$@" > "$HOME/${agent}.args" && cat > "$HOME/${agent}.stdin" && echo done`,
    ]),
  ),
  gh: 'echo "$@" > "$HOME/gh.args"',
  pass: "echo the-token-of-weather",
  // Supports paths only, such as `jq -r .payload.issue.body`.
  jq: "exec node -p 'process.argv[1].slice(1).split(`.`).reduce((value, key) => value[key], JSON.parse(require(`fs`).readFileSync(0)))' -- \"$2\"",
  "some-mcp-server": "exec node $DOCS_CWD/some-mcp-server.mjs",
  // Starts the local program as npx does, but faster.
  // biome-ignore lint/suspicious/noTemplateCurlyInString: an expansion of the shell
  npx: '[ "$1" = @signalbox/cli ] && shift && exec signalbox-cli "$@"; [ "$1" != signalbox ] && PATH="${PATH#*:}" && exec npx "$@"; shift; exec signalbox "$@"',
};
const STDIO_SERVER = `
import { McpServer } from "@modelcontextprotocol/server";
import { StdioServerTransport } from "@modelcontextprotocol/server/stdio";
const server = new McpServer({ name: "some", version: "1" });
server.registerTool("ping", {}, () => ({ content: [] }));
await server.connect(new StdioServerTransport());
`;

export interface ShellOptions {
  /** The page of the script. The scripts of a page share their variables, as in one terminal. */
  page?: string;
  env?: Record<string, string>;
  cwd?: string;
  /** Ends the block when its output matches. Otherwise the block must end with the exit code 0. */
  until?: RegExp;
}

export type World = Awaited<ReturnType<typeof startWorld>>;

export async function startWorld() {
  const home = mkdtempSync(join(tmpdir(), "signalbox-docs-"));
  const [cwd, bin] = [join(home, "checkout"), join(home, "bin")];
  for (const folder of [cwd, bin]) mkdirSync(folder);
  symlinkSync(join(ROOT, "node_modules"), join(cwd, "node_modules"));
  writeFileSync(join(cwd, "package.json"), '{ "type": "module" }');
  writeFileSync(join(cwd, "some-mcp-server.mjs"), STDIO_SERVER);
  for (const [name, script] of Object.entries(STAND_INS)) {
    const file = join(bin, name);
    writeFileSync(file, `#!/bin/sh\n${script.replace("$DOCS_CWD", cwd)}\n`);
    chmodSync(file, 0o755);
  }
  const PATH = [
    bin,
    dirname(process.execPath),
    join(cwd, "node_modules/.bin"),
    process.env.PATH,
  ].join(delimiter);
  const weather = await startWeatherServer();
  const hub = await startHubProcess({
    data: ".signalbox",
    cwd,
    env: {
      PATH,
      HOME: home,
      SIGNALBOX_TOKEN: TOKEN,
      SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1",
      SIGNALBOX_ALLOW_COMMANDS: "on",
    },
  });

  /** What the pages write, and what it is here. */
  const substitutions: [string, string][] = [
    ["http://127.0.0.1:4747", hub.url],
    ["https://hub.example.com", hub.url],
    ["https://weather.example/mcp", weather.url],
    ["sbx_…", TOKEN],
    ["whsec_…", `whsec_${btoa("a secret of the documentation")}`],
    ["…", "0123456789abcdef"],
  ];
  const substitute = (text: string) =>
    substitutions.reduce((result, [shown, real]) => result.replaceAll(shown, real), text);
  const unsubstitute = (text: string) =>
    substitutions.reduce((result, [shown, real]) => result.replaceAll(real, shown), text);

  return {
    hub,
    weather,
    home,
    cwd,
    substitute,
    unsubstitute,
    /** The output of the latest block. */
    lastOutput: "",

    async shell(script: string, options: ShellOptions = {}): Promise<string> {
      const { page } = options;
      const state = join(home, `${page?.replaceAll("/", "-")}.state`);
      const lines = [
        "set -e -o pipefail -o allexport",
        ...(existsSync(state) ? [`. '${state}'`] : []),
        script,
        ...(page === undefined ? [] : [`{ export -p; declare -f; } > '${state}'`]),
      ];
      const child = spawn("bash", ["-c", lines.join("\n")], {
        cwd: options.cwd ?? cwd,
        env: { PATH, HOME: home, TOKEN, npm_config_offline: "true", ...options.env },
        stdio: ["ignore", "pipe", "pipe"],
        // Its own process group, to end all processes of the block.
        detached: true,
      });
      const output = { stdout: "", stderr: "" };
      const signalAll = (signal: NodeJS.Signals) => {
        try {
          process.kill(-(child.pid ?? 0), signal);
        } catch {
          // The group has ended.
        }
      };
      const timer = setTimeout(signalAll, MAX_WAIT_MS, "SIGKILL");
      let hasMatched = false;
      for (const stream of ["stdout", "stderr"] as const)
        child[stream].on("data", (chunk: Buffer) => {
          output[stream] += chunk.toString();
          if (!options.until?.test(output.stdout + output.stderr)) return;
          hasMatched = true;
          signalAll("SIGTERM");
        });
      const [code] = (await once(child, "close")) as [number | null];
      clearTimeout(timer);
      const all = `$ ${script}\n${output.stdout}${output.stderr}`;
      if (options.until) expect(hasMatched, all).toBe(true);
      else expect(code, all).toBe(0);
      return output.stdout;
    },

    /** Sends a request to the hub, and returns the status and the body of the response. */
    async request(method: string, path: string, body?: string, token = TOKEN) {
      const response = await fetch(`${hub.url}${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        ...(body !== undefined && { body }),
      });
      const text = await response.text();
      return { status: response.status, body: text === "" ? undefined : JSON.parse(text) };
    },

    async close() {
      await hub.stop();
      await weather.close();
      rmSync(home, { recursive: true, force: true, maxRetries: 10 });
    },
  };
}
