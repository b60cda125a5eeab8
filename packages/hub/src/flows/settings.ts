/** The settings of runs. */
import { DAY_MS, days, integer, setting, type ValuesOf } from "../kernel/settings.ts";

// biome-ignore format: a table
export const flowDefinitions = {
  keepRunsDays: setting({ env: "SIGNALBOX_KEEP_RUNS_DAYS", flag: "keep-runs-days", help: "days to keep ended runs, above 0", schema: days.default(30) }),
  runsAtOnce: setting({ env: "SIGNALBOX_RUNS_AT_ONCE", flag: "runs-at-once", help: "hard limit of the queued runs that this process executes at the same time, also of those that wait; 0 = none, only other processes execute them (default: no limit but the memory)", schema: integer(0, 100_000).optional() }),
  runMemoryMegabytes: setting({ env: "SIGNALBOX_RUN_MEMORY_MB", flag: "run-memory-mb", help: "memory for the runs that this process executes, in megabytes; above it, other runs wait in the database", schema: integer(8, 100_000).default(64) }),
  originRequests: setting({ env: "SIGNALBOX_ORIGIN_REQUESTS", flag: "origin-requests", help: "how many requests the runs of this process may have open at one origin, such as https://api.example.com; above it, they wait", schema: integer(1, 100_000).default(64) }),
  runLease: setting({ env: "SIGNALBOX_RUN_LEASE", flag: "run-lease", help: "seconds after which other processes claim the runs of a process that died", schema: integer(1, 3_600).default(15) }),
  runBytes: setting({ env: "SIGNALBOX_RUN_BYTES", flag: "run-bytes", help: "maximum number of bytes that a run may store: the inputs and outputs of its steps, as JSON", schema: integer(100_000, 10_000_000_000).default(64_000_000) }),
  maxChain: setting({ env: "SIGNALBOX_MAX_CHAIN", flag: "max-chain", help: "maximum length of a chain of runs that start each other by events and calls", schema: integer(1, 100).default(5) }),
  maxLoops: setting({ env: "SIGNALBOX_MAX_LOOPS", flag: "max-loops", help: "how often per minute a trigger may fire on events that its own flow has caused; 0 = never", schema: integer(0, 1_000_000).default(30) }),
} as const;

export interface FlowSettings {
  /** How long ended runs and deleted flows are kept. */
  keepRunsMs: number;
  /** How many claimed runs may execute at the same time; undefined = as many as their memory allows. */
  runConcurrency: number | undefined;
  /** The memory that runs may use before the hub claims no more. */
  runMemoryBytes: number;
  /** How many requests the runs may have open at one origin. */
  originRequests: number;
  runLeaseMs: number;
  /** The maximum total size of the values that a run stores with its steps. */
  maxRunBytes: number;
  /** The maximum `depth` of a run, which is the number of events and calls that led to it. */
  maxChain: number;
  /** How many times per minute a trigger may fire on events that its own flow has caused. */
  maxLoops: number;
}

export const readFlowSettings = (values: ValuesOf<typeof flowDefinitions>): FlowSettings => ({
  keepRunsMs: values.keepRunsDays * DAY_MS,
  runConcurrency: values.runsAtOnce,
  runMemoryBytes: values.runMemoryMegabytes * 1024 * 1024,
  originRequests: values.originRequests,
  runLeaseMs: values.runLease * 1000,
  maxRunBytes: values.runBytes,
  maxChain: values.maxChain,
  maxLoops: values.maxLoops,
});
