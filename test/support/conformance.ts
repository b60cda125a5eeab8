/** Runs the official MCP conformance suite against an MCP server. */
import { execFile } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, onTestFinished } from "vitest";
import { startBearerProxy } from "./bearer-proxy.ts";
import { tempFolder } from "./temp-folder.ts";

const SUITE = fileURLToPath(import.meta.resolve("@modelcontextprotocol/conformance/dist/index.js"));

interface Check {
  id: string;
  status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  errorMessage?: string;
}

/** Runs the scenarios of a protocol version. Returns the messages of failed checks by `scenario:check`. */
export async function findFailures(
  server: string,
  token: string,
  revision: string,
): Promise<Map<string, string>> {
  const { origin, pathname } = new URL(server);
  const proxy = await startBearerProxy(origin, token);
  onTestFinished(proxy.stop);
  const folder = tempFolder();
  const args = [
    "server",
    "--url",
    `${proxy.url}${pathname}`,
    "--requirements",
    revision,
    "-o",
    folder,
  ];
  // The exit code covers only required scenarios, so the written checks are read.
  const { stdout } = await promisify(execFile)(process.execPath, [SUITE, ...args], {
    cwd: folder,
    maxBuffer: 100_000_000,
  }).catch((error: { stdout: string }) => error);
  const scenarios = [...stdout.matchAll(/^=== Running scenario: (\S+) ===$/gm)].map(
    ([, name]) => name as string,
  );
  expect(scenarios.length, stdout).toBeGreaterThan(30);
  const found = new Map<string, string>();
  const written = readdirSync(folder);
  for (const scenario of scenarios) {
    const result = written.find(
      (name) => name.replace(/-\d{4}-\d\d-\d\dT.*$/, "") === `server-${scenario}`,
    );
    const checks: Check[] = result
      ? JSON.parse(readFileSync(join(folder, result, "checks.json"), "utf8"))
      : [];
    const failed = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING");
    for (const { id, errorMessage } of failed)
      found.set(`${scenario}:${id}`, errorMessage ?? "a warning");
    // Some scenarios end without a check if they find nothing to test; that is a failure too.
    if (
      failed.length === 0 &&
      !checks.some(({ id, status }) => status === "SUCCESS" && !id.startsWith("wire-schema"))
    )
      found.set(`${scenario}:no-check`, "no check succeeded");
  }
  return found;
}

/** Whether an entry, which is a scenario or one of its checks, covers this failure. */
export const covers = (entry: string, key: string): boolean =>
  key === entry || key.startsWith(`${entry}:`);

/** Fails if a failure is not listed, or if an entry of the list is no longer needed. */
export function expectListed(found: ReadonlyMap<string, string>, names: readonly string[]): void {
  const unlisted = [...found].filter(([key]) => !names.some((name) => covers(name, key)));
  expect(Object.fromEntries(unlisted)).toEqual({});
  const stale = names.filter((name) => ![...found.keys()].some((key) => covers(name, key)));
  expect(stale).toEqual([]);
}
