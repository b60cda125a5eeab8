/** Runs the stand-in server (trigger-server.ts) as a child process, which a test can kill and restart. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { onTestFinished } from "vitest";
import { fixedPort } from "./fixed-port.ts";
import type {
  ControlState,
  SentCallback,
  Switches,
  TriggerServerOptions,
} from "./trigger-server.ts";

const PROGRAM = fileURLToPath(new URL("trigger-server.ts", import.meta.url));

export interface TriggerServerProcess {
  url: string;
  kill(): Promise<void>;
  /** Starts the killed server again on the same port. */
  restart(): Promise<void>;
  /** Resolves when the process has ended, for example because of the switch `crash`. */
  ended(): Promise<void>;
  switch(switches: Partial<Switches>): Promise<void>;
  state(): Promise<ControlState>;
  notify(type: string, data: object): Promise<SentCallback[]>;
}

export async function startTriggerServer(
  serverOptions: Omit<TriggerServerOptions, "port"> = {},
): Promise<TriggerServerProcess> {
  const options: TriggerServerOptions = { ...serverOptions, port: Number(await fixedPort()) };
  let child: ChildProcess;
  let exited: Promise<unknown>;
  let urls: { url: string; controlUrl: string };
  const start = async () => {
    child = spawn(process.execPath, [PROGRAM, JSON.stringify(options)], {
      stdio: ["ignore", "pipe", "inherit"],
    });
    exited = once(child, "exit");
    const lines = createInterface(child.stdout as NodeJS.ReadableStream);
    const [line] = await once(lines, "line");
    urls = JSON.parse(line as string);
  };
  await start();
  // biome-ignore lint/style/noNonNullAssertion: assigned by `start`
  const { url } = urls!;
  const kill = async () => {
    child.kill("SIGKILL");
    await exited;
  };
  onTestFinished(kill);

  const control = async (path: string, body: unknown = {}) => {
    const response = await fetch(`${urls.controlUrl}${path}`, {
      method: "POST",
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${path}: ${text}`);
    return JSON.parse(text);
  };
  return {
    url,
    kill,
    restart: start,
    ended: async () => void (await exited),
    switch: (switches) => control("/switch", switches),
    state: () => control("/state"),
    notify: (type, data) => control("/notify", { type, data }),
  };
}
