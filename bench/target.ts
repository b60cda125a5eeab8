import type { LoadPlan } from "./load.ts";

/** A server under load. */
export interface Target {
  name: string;
  port: number;
  pid: number;
  /** The pid of its database server, if it has one. */
  databasePid?: number;
  /** The requests that it gets; signed GitHub webhooks if undefined. */
  deliveries?(): Pick<LoadPlan, "port" | "templates">;
  /** The number of events that it has stored, by its own counter. */
  stored?(): Promise<number>;
  stop(): Promise<void>;
}
