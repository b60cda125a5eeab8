import { fork } from "node:child_process";
import { makeFolder, removeFolder, stopProcess, trackProcess } from "./cleanup.ts";
import { startFlags } from "./hub-process.ts";
import { createMessageReader } from "./message-reader.ts";
import type { Target } from "./target.ts";

/** The work of a webhook, in order. `startParts(n)` starts a server that does the first n parts. */
export const PARTS = ["+ HMAC", "+ parse and summarize", "+ store with fsync"];
export const ALL_PARTS = PARTS.length;

export async function startParts(
  count: number,
  name = PARTS[count - 1] as string,
): Promise<Target> {
  const folder = makeFolder();
  const child = trackProcess(
    fork(new URL("./parts-server.ts", import.meta.url), [String(count), folder], {
      execArgv: startFlags(),
    }),
  );
  const port = await createMessageReader<number>(child)();
  return {
    name,
    port,
    pid: child.pid as number,
    async stop() {
      await stopProcess(child);
      removeFolder(folder);
    },
  };
}
