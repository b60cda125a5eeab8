import type { TestProject } from "vitest/node";
import { openPostgres } from "../../packages/hub/src/kernel/backends/postgres.ts";
import { storeDefinition } from "../../packages/hub/src/store.ts";
import { createTemplate, startPostgres } from "./postgres.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** The URL of the shared server. `createMigratedDatabase` creates a database on it. */
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
  await createTemplate(server.url, async (url) =>
    (await openPostgres(storeDefinition, url)).close(),
  );
  project.provide("postgresUrl", server.url);
  return server.stop;
}
