import type { TestProject } from "vitest/node";
import { startPostgres } from "./postgres.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The URL of the shared server. `createDatabase` creates a database on it. */
    postgresUrl: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const server = await startPostgres({
    settings: {
      // Test files run in parallel, each with its own pools.
      max_connections: "500",
      // The data does not need to survive a power failure, and tests create many databases.
      fsync: "off",
    },
  });
  project.provide("postgresUrl", server.url);
  return server.stop;
}
