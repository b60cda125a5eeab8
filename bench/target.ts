import type { LoadPlan } from "./load.ts";

/** A server under load. */
export interface Target {
  name: string;
  port: number;
  pid: number;
  /** The pid of its database server, if it has one. */
  databasePid?: number;
  /** Builds the requests of the load; undefined = signed GitHub webhooks. */
  makeRequests?(): Pick<LoadPlan, "port" | "templates">;
  /** Reads the server's own counter of stored events. */
  stored?(): Promise<number>;
  stop(): Promise<void>;
}
