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

/** Runs the scenarios of a protocol version. Returns the messages of failed checks by `SCENARIO:CHECK`. */
export async function findFailures(
  server: string,
  token: string,
  protocolVersion: string,
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
    protocolVersion,
    "-o",
    folder,
  ];
  // The exit code covers only required scenarios, so the results are read from the folder.
  const { stdout } = await promisify(execFile)(process.execPath, [SUITE, ...args], {
    cwd: folder,
    maxBuffer: 100_000_000,
  }).catch((error: { stdout: string }) => error);
  const scenarios = [...stdout.matchAll(/^=== Running scenario: (\S+) ===$/gm)].map(
    ([, name]) => name as string,
  );
  expect(scenarios.length, stdout).toBeGreaterThan(30);
  const failures = new Map<string, string>();
  const resultFolders = readdirSync(folder);
  for (const scenario of scenarios) {
    const resultFolder = resultFolders.find(
      (name) => name.replace(/-\d{4}-\d\d-\d\dT.*$/, "") === `server-${scenario}`,
    );
    const checks: Check[] = resultFolder
      ? JSON.parse(readFileSync(join(folder, resultFolder, "checks.json"), "utf8"))
      : [];
    const failed = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING");
    for (const { id, errorMessage } of failed)
      failures.set(`${scenario}:${id}`, errorMessage ?? "a warning");
    // Some scenarios end without a check if they find nothing to test. Such a scenario has failed too.
    if (
      failed.length === 0 &&
      !checks.some(({ id, status }) => status === "SUCCESS" && !id.startsWith("wire-schema"))
    )
      failures.set(`${scenario}:no-check`, "no check succeeded");
  }
  return failures;
}

/** Returns whether a list entry, `SCENARIO` or `SCENARIO:CHECK`, covers the failure with this key. */
export const covers = (entry: string, key: string): boolean =>
  key === entry || key.startsWith(`${entry}:`);

/** Fails if a failure is not covered by an entry, or if an entry covers no failure. */
export function expectListed(
  failures: ReadonlyMap<string, string>,
  entries: readonly string[],
): void {
  const unlisted = [...failures].filter(([key]) => !entries.some((entry) => covers(entry, key)));
  expect(Object.fromEntries(unlisted)).toEqual({});
  const stale = entries.filter((entry) => ![...failures.keys()].some((key) => covers(entry, key)));
  expect(stale).toEqual([]);
}
