/**
 * `npm run bench -- tabs`: webhooks while ten tabs of a real browser show the inbox. Each tab follows
 * the live stream and reloads changed data. The rounds with and without tabs alternate. The browser has
 * its own half of the cores, since the browsers of real users run on other machines.
 */
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import type { Browser, BrowserContext } from "playwright-core";
import { launchChromium } from "../test/browser/support/chromium.ts";
import type { Benchmark } from "./benchmark.ts";
import { findCli, type HubProcess, startHub } from "./hub-process.ts";
import { startLoad } from "./load-process.ts";
import { invalidReasons, type LoadShape, type Measurement, measure } from "./measure.ts";
import { residentBytes } from "./process-stats.ts";
import { median, relativeTo } from "./statistics.ts";
import { figure, megabytes, percent, table, times } from "./table.ts";

const TABS = 10;
const GOAL_RATIO = 2;
const TOKEN = "the-admin-of-this-benchmark";

interface Rounds {
  alone: Measurement[];
  withTabs: Measurement[];
}

export const tabs: Benchmark = async ({ quick, hub: cliPath, reportProgress }) => {
  const cli = findCli(cliPath);
  const cores = cpus().length;
  const half = Math.ceil(cores / 2);
  useCores(0, half - 1); // processes that start from now on inherit this limit
  const load = startLoad();
  const seconds = quick ? 2 : 6;
  const shapes: [string, LoadShape][] = [
    ["100 per second", { connections: 16, requests: 100 * seconds, seconds, rate: 100 }],
    ["500 per second", { connections: 64, requests: 500 * seconds, seconds, rate: 500 }],
    ["concurrency 16", { connections: 16, requests: 60_000, seconds }],
  ];
  const measured = new Map<string, Rounds>();
  const resident: number[] = [];
  const hub = await startHub({ cli, name: "hub, SQLite", env: { SIGNALBOX_TOKEN: TOKEN } });
  const folder = mkdtempSync(join(tmpdir(), "signalbox-tabs-"));
  const browser = await launchChromium((path) => {
    const script = join(folder, "chromium");
    writeFileSync(script, `#!/bin/sh\nexec taskset -c ${half}-${cores - 1} "${path}" "$@"\n`, {
      mode: 0o755,
    });
    return script;
  });
  try {
    reportProgress("tabs: warm-up of the hub");
    await measure(load, hub, { connections: 16, requests: 15_000, seconds: quick ? 2 : 5 });
    for (const [name, shape] of shapes) {
      const rounds: Rounds = { alone: [], withTabs: [] };
      measured.set(name, rounds);
      for (let round = 1; round <= (quick ? 3 : 7); round += 1) {
        reportProgress(`tabs: ${name}, with and without ${TABS} tabs: round ${round}`);
        rounds.alone.push(await measure(load, hub, shape));
        const contexts = await openTabs(browser, hub);
        rounds.withTabs.push(await measure(load, hub, shape));
        resident.push(residentBytes(hub.pid));
        for (const context of contexts) await context.close();
      }
    }
  } finally {
    await browser.close();
    await hub.stop();
    rmSync(folder, { recursive: true });
    useCores(0, cores - 1);
  }
  return toResult(measured, resident);
};

/** Limits this process to some cores. Uses `taskset`, since Node has no such function; only on Linux. */
function useCores(first: number, last: number): void {
  execFileSync("taskset", ["-acp", `${first}-${last}`, String(process.pid)], { stdio: "ignore" });
}

/**
 * Opens tabs that show the inbox, and waits until all are live. Each tab has its own browser context,
 * since all tabs of one context together have only six connections to the hub.
 */
async function openTabs(browser: Browser, { port }: HubProcess): Promise<BrowserContext[]> {
  const response = await fetch(`http://127.0.0.1:${port}/api/session/links`, {
    method: "POST",
    headers: { authorization: `Bearer ${TOKEN}`, "content-type": "application/json" },
    body: "{}",
  });
  const { url } = (await response.json()) as { url: string };
  const first = await browser.newContext();
  const page = await first.newPage();
  await page.goto(url);
  await page.waitForURL("**/inbox");
  const storageState = await first.storageState();
  const contexts = [first];
  while (contexts.length < TABS) {
    const context = await browser.newContext({ storageState });
    contexts.push(context);
    await (await context.newPage()).goto(`http://127.0.0.1:${port}/inbox`);
  }
  for (const context of contexts)
    for (const page of context.pages()) await page.getByText("Live", { exact: true }).waitFor();
  return contexts;
}

function toResult(measured: ReadonlyMap<string, Rounds>, resident: readonly number[]) {
  const lines = [...measured].map(([name, { alone, withTabs }]) => ({
    name,
    p50: [alone, withTabs].map((rounds) => median(rounds.map(({ latency }) => latency.p50))),
    p99: [alone, withTabs].map((rounds) => median(rounds.map(({ latency }) => latency.p99))),
    perSecond: [alone, withTabs].map((rounds) => median(rounds.map(({ perSecond }) => perSecond))),
    ratio: relativeTo(alone, withTabs, ({ latency }) => latency.p99),
    perCpuSecond: relativeTo(alone, withTabs, ({ perCpuSecond }) => perCpuSecond),
  }));
  const problems = [...measured].flatMap(([name, { alone, withTabs }]) => [
    ...alone.flatMap((round) => invalidReasons(name, round)),
    ...withTabs.flatMap((round) => invalidReasons(`${name}, tabs`, round)),
  ]);
  return {
    tables: [
      {
        title: `Ingest while ${TABS} tabs show the inbox, SQLite; latency in ms`,
        text: table(
          [
            "webhooks",
            "p50 alone",
            "p50 tabs",
            "p99 alone",
            "p99 tabs",
            "p99 ratio",
            "req/s alone",
            "req/s tabs",
            "req/CPU-s of alone",
          ],
          lines.map(({ name, p50, p99, ratio, perSecond, perCpuSecond }) => [
            name,
            ...p50.map(figure),
            ...p99.map(figure),
            times(ratio),
            ...perSecond.map(figure),
            percent(perCpuSecond),
          ]),
        ),
      },
      {
        title: "Memory of the hub with the tabs",
        text: `largest RSS: ${megabytes(Math.max(...resident))}`,
      },
      ...(problems.length > 0 ? [{ title: "Invalid rounds", text: problems.join("\n") }] : []),
    ],
    goals: lines
      .filter(({ name }) => name === "500 per second")
      .map(({ name, ratio }) => ({
        what: `${name}: p99 with ${TABS} tabs at most ${times(GOAL_RATIO)} of alone`,
        isMet: ratio <= GOAL_RATIO,
        result: times(ratio),
      })),
    isValid: problems.length === 0,
    data: { lines, resident, rounds: Object.fromEntries(measured) },
  };
}
