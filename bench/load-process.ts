import { fork } from "node:child_process";
import { trackProcess } from "./cleanup.ts";
import type { LoadPlan, LoadReport } from "./load.ts";
import { createMessageReader } from "./message-reader.ts";

export interface Load {
  run(plan: LoadPlan): Promise<LoadReport>;
}

/** Starts one process for all measurements, so that V8 has optimized its code after the first one. */
export function startLoad(): Load {
  const child = trackProcess(
    fork(new URL("./load.ts", import.meta.url), {
      serialization: "advanced", // passes typed arrays without conversion
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    }),
  );
  const nextReport = createMessageReader<LoadReport>(child);
  return {
    run(plan) {
      const report = nextReport();
      child.send(plan);
      return report;
    },
  };
}
