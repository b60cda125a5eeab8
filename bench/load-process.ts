import { fork } from "node:child_process";
import { listener } from "./listener.ts";
import type { LoadPlan, LoadReport } from "./load.ts";
import { own } from "./owned.ts";

export interface Load {
  run(plan: LoadPlan): Promise<LoadReport>;
}

/** One process for all runs: it is warm after the first. */
export function startLoad(): Load {
  const child = own(
    fork(new URL("./load.ts", import.meta.url), {
      serialization: "advanced", // typed arrays travel as they are
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    }),
  );
  const report = listener<LoadReport>(child);
  return {
    run(plan) {
      const done = report();
      child.send(plan);
      return done;
    },
  };
}
