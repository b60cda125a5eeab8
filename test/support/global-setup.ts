import { execFileSync } from "node:child_process";
import type { TestProject } from "vitest/node";
import { startPostgres } from "./postgres.ts";

declare module "vitest" {
  interface ProvidedContext {
    /** Of the server that all tests share: give it to `createDatabase` for one of your own. */
    postgresUrl: string;
  }
}

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  // Stories run the command that users get, not the sources.
  execFileSync("npm", ["run", "--silent", "build"], { stdio: "inherit" });
  const server = await startPostgres({
    settings: {
      // Test files run side by side, each with pools of its own.
      max_connections: "500",
      // This data need not outlive a power cut, and tests create many databases.
      fsync: "off",
    },
  });
  project.provide("postgresUrl", server.url);
  return server.stop;
}
