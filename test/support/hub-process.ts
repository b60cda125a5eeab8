/** Runs the built hub as a child process. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { fileURLToPath } from "node:url";
import { MAX_WAIT_MS } from "./timeouts.ts";

export const CLI = fileURLToPath(new URL("../../packages/hub/bin/signalbox.js", import.meta.url));

export interface HubProcess {
  url: string;
  pid: number;
  /** Returns the output of stdout and stderr so far. The hub writes its log lines up to 250 ms late. */
  output(): string;
  /** Resolves when the process has ended, and its output is complete. */
  exited: Promise<unknown>;
  /** Sends a signal and waits for the exit; returns the exit code, or null after SIGKILL. */
  stop(signal?: NodeJS.Signals): Promise<number | null>;
}

export interface HubProcessOptions {
  data: string;
  cwd?: string;
  env?: Record<string, string>;
  args?: string[];
  /** Called with the output so far, also before the hub is listening. */
  onOutput?: (output: string) => void;
}

/** Only PATH is inherited, so that the environment of the test run does not affect the hub. */
const cleanEnv = (extra: Record<string, string>): Record<string, string> => ({
  PATH: process.env.PATH ?? "",
  ...extra,
});

class PortInUse extends Error {}

/** Starts the hub. If another process uses the fixed port for a moment, it tries again. */
export async function startHubProcess(options: HubProcessOptions): Promise<HubProcess> {
  const deadline = Date.now() + MAX_WAIT_MS;
  for (;;) {
    try {
      return await startOnce(options);
    } catch (error) {
      if (!(error instanceof PortInUse) || Date.now() > deadline) throw error;
    }
  }
}

async function startOnce({
  data,
  cwd,
  env = {},
  args = [],
  onOutput = () => {},
}: HubProcessOptions): Promise<HubProcess> {
  const child = spawn(process.execPath, [CLI, "serve", ...args], {
    env: cleanEnv({
      PORT: "0",
      SIGNALBOX_DATA: data,
      SIGNALBOX_LOG_FORMAT: "json",
      SIGNALBOX_RATE_LIMIT: "0",
      ...env,
    }),
    stdio: ["ignore", "pipe", "pipe"],
    ...(cwd ? { cwd } : {}),
  });
  let output = "";
  // `close` instead of `exit`, because at the exit the last lines may not have been read.
  const ended = once(child, "close").then(([code]) => code as number | null);
  const listening = new Promise<string>((resolve, reject) => {
    const read = (chunk: Buffer) => {
      output += chunk.toString();
      onOutput(output);
      const url = /^ *Open +(https?:\S+)$/m.exec(output)?.[1];
      if (!url) return;
      clearTimeout(timer);
      resolve(url);
    };
    child.stdout?.on("data", read);
    child.stderr?.on("data", read);
    const timer = setTimeout(() => {
      child.kill("SIGKILL");
      reject(new Error(`the hub did not start listening in time:\n${output}`));
    }, MAX_WAIT_MS);
    void ended.then((code) => {
      const Failure = /^signalbox: Port \d+ on \S+ is in use\./m.test(output) ? PortInUse : Error;
      reject(new Failure(`the hub ended (${code}) before it was listening:\n${output}`));
    });
  });
  return {
    url: await listening,
    pid: child.pid as number,
    output: () => output,
    exited: ended,
    async stop(signal = "SIGTERM") {
      child.kill(signal);
      return ended;
    },
  };
}

/** Runs a CLI command and waits for its exit. The default folder contains no settings and no data of a hub. */
export async function runCli(
  args: string[],
  options: { env?: Record<string, string>; cwd?: string } = {},
): Promise<{ code: number | null; stdout: string; stderr: string }> {
  const child: ChildProcess = spawn(process.execPath, [CLI, ...args], {
    env: cleanEnv(options.env ?? {}),
    stdio: ["ignore", "pipe", "pipe"],
    cwd: options.cwd ?? tmpdir(),
  });
  const output = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const)
    child[stream]?.on("data", (chunk: Buffer) => {
      output[stream] += chunk.toString();
    });
  const [code] = (await once(child, "close")) as [number | null];
  return { code, ...output };
}

/** Creates a token with `signalbox token create`. */
export async function createTokenByCli(
  env: Record<string, string>,
  ...args: string[]
): Promise<{ id: string; token: string }> {
  const { stdout } = await runCli(["token", "create", "x", "--json", ...args], { env });
  return JSON.parse(stdout);
}
