import { fork } from "node:child_process";
import { stopProcess, trackProcess } from "./cleanup.ts";
import { createMessageReader } from "./message-reader.ts";
import type { Target } from "./target.ts";

export async function startBaseline(
  file = new URL("./baseline-server.ts", import.meta.url),
  execArgv: string[] = [],
): Promise<Target> {
  const child = trackProcess(fork(file, { execArgv }));
  const port = await createMessageReader<number>(child)();
  return {
    name: "baseline",
    port,
    pid: child.pid as number,
    stop: () => stopProcess(child),
  };
}
