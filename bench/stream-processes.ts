/** Starts the clients of a live stream, each kind in a separate process. */
import { type ChildProcess, fork } from "node:child_process";
import { stopProcess, trackProcess } from "./cleanup.ts";
import type { ProbePlan, ProbeReport } from "./latency-probe.ts";
import { createMessageReader } from "./message-reader.ts";
import type { StreamClientsCommand, StreamClientsReport } from "./stream-clients.ts";

const start = (file: URL): ChildProcess =>
  trackProcess(
    fork(file, {
      serialization: "advanced", // passes typed arrays without conversion
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    }),
  );

export interface LatencyProbe {
  run(plan: ProbePlan): Promise<ProbeReport>;
}

export function startLatencyProbe(): LatencyProbe {
  const child = start(new URL("./latency-probe.ts", import.meta.url));
  const nextReport = createMessageReader<ProbeReport>(child);
  return {
    run(plan) {
      const report = nextReport();
      child.send(plan);
      return report;
    },
  };
}

export interface StreamClients {
  /**
   * Resolves when every client has received this many events, or after the timeout. Call it before
   * the events are sent.
   */
  awaitEvents(events: number, timeoutMs: number): Promise<StreamClientsReport>;
  stop(): Promise<void>;
}

/** Resolves when all clients are connected. */
export async function startStreamClients(
  port: number,
  token: string,
  count: number,
): Promise<StreamClients> {
  const child = start(new URL("./stream-clients.ts", import.meta.url));
  const nextResponse = createMessageReader<unknown>(child);
  const send = async (command: StreamClientsCommand): Promise<unknown> => {
    const response = nextResponse();
    child.send(command);
    return response;
  };
  await send({ command: "open", port, token, count });
  return {
    awaitEvents: (events, timeoutMs) =>
      send({ command: "await", events, timeoutMs }) as Promise<StreamClientsReport>,
    stop: () => stopProcess(child),
  };
}
