/** Those who follow a stream, each kind in a process of its own. */
import { type ChildProcess, fork } from "node:child_process";
import { listener } from "./listener.ts";
import { end, own } from "./owned.ts";
import type { ProbePlan, ProbeReport } from "./prober.ts";
import type { ReadersOrder, ReadersReport } from "./readers.ts";

const start = (file: URL): ChildProcess =>
  own(
    fork(file, {
      serialization: "advanced", // typed arrays travel as they are
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    }),
  );

export interface Prober {
  run(plan: ProbePlan): Promise<ProbeReport>;
}

export function startProber(): Prober {
  const child = start(new URL("./prober.ts", import.meta.url));
  const report = listener<ProbeReport>(child);
  return {
    run(plan) {
      const done = report();
      child.send(plan);
      return done;
    },
  };
}

export interface Readers {
  /** Resolves when every reader has had so many events; to be called before they are sent. */
  awaitEvents(events: number, patienceMs: number): Promise<ReadersReport>;
  stop(): Promise<void>;
}

/** Resolves when all of them follow. */
export async function startReaders(port: number, token: string, count: number): Promise<Readers> {
  const child = start(new URL("./readers.ts", import.meta.url));
  const answer = listener<unknown>(child);
  const tell = async (order: ReadersOrder): Promise<unknown> => {
    const answered = answer();
    child.send(order);
    return answered;
  };
  await tell({ order: "open", port, token, count });
  return {
    awaitEvents: (events, patienceMs) =>
      tell({ order: "await", events, patienceMs }) as Promise<ReadersReport>,
    stop: () => end(child),
  };
}
