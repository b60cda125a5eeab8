/** The verbs of apps, flows, their runs, and the events that start runs. */
export * from "./matching/store/append-events.ts";
export * from "./matching/store/breakers.ts";
export * from "./matching/store/matching.ts";
export * from "./runs/store/claim-runs.ts";
export * from "./runs/store/control-runs.ts";
export * from "./runs/store/queue-runs.ts";
export * from "./runs/store/read-runs.ts";
export * from "./runs/store/run-progress.ts";
export * from "./runs/store/run-queue-reads.ts";
export * from "./secrets/store.ts";
export * from "./store/apps.ts";
export * from "./store/flows.ts";
export * from "./store/legacy-flows.ts";
export * from "./store/retention.ts";
export * from "./store/schedules.ts";
export * from "./store/tenant-deletion.ts";
export * from "./store/triggers.ts";
