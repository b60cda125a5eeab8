import { fork } from "node:child_process";
import { listener } from "./listener.ts";
import { end, own } from "./owned.ts";
import type { Target } from "./target.ts";

export async function startFloor(
  file = new URL("./floor.ts", import.meta.url),
  execArgv: string[] = [],
): Promise<Target> {
  const child = own(fork(file, { execArgv }));
  const port = await listener<number>(child)();
  return {
    name: "floor",
    port,
    pid: child.pid as number,
    stop: () => end(child),
  };
}
