/** A hub with an access token and a given number of pending events. */
import { execFileSync } from "node:child_process";
import { join } from "node:path";
import { openSqlite } from "../packages/hub/src/kernel/backends/sqlite.ts";
import { storeDefinition } from "../packages/hub/src/store.ts";
import { makeFolder, removeFolder } from "./cleanup.ts";
import { type HubProcess, startHub } from "./hub-process.ts";
import { seed } from "./seed.ts";

export interface AgentHub extends HubProcess {
  token: string;
}

export interface AgentHubOptions {
  cli: string;
  name: string;
  pending?: number;
  nodeOptions?: string[];
}

export async function startAgentHub(options: AgentHubOptions): Promise<AgentHub> {
  const { cli, pending = 0 } = options;
  const data = makeFolder();
  if (pending > 0) {
    const store = openSqlite(storeDefinition, join(data, "signalbox.db"));
    await seed(store, pending);
    await store.close();
  }
  const token = createToken(cli, data, "inbox:read");
  const hub = await startHub({ ...options, data });
  return {
    ...hub,
    token,
    async stop() {
      await hub.stop();
      removeFolder(data);
    },
  };
}

/** Uses the measured CLI, so that the token has the format of that version. */
export function createToken(
  cli: string,
  data: string,
  scope: "inbox:read" | "flows:call" | "admin",
): string {
  const output = execFileSync(
    process.execPath,
    [cli, "token", "create", "bench", "--scope", scope, "--data", data, "--json"],
    { cwd: data, env: { PATH: process.env.PATH, HOME: process.env.HOME }, encoding: "utf8" },
  );
  return (JSON.parse(output) as { token: string }).token;
}
