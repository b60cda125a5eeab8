/**
 * `npm run bench -- matching`: webhooks of 300 bytes while 10, 1,000 and 10,000 flows listen to their event
 * type, each to another repository. No flow matches.
 */
import { statSync } from "node:fs";
import { join } from "node:path";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { createMatcher } from "../packages/hub/src/flows/matching/matcher.ts";
import { openSqlite } from "../packages/hub/src/kernel/backends/sqlite.ts";
import { storeDefinition } from "../packages/hub/src/store.ts";
import { startHealthProbe } from "../test/support/start-health-probe.ts";
import { createToken } from "./agent-hub.ts";
import type { Benchmark } from "./benchmark.ts";
import { makeFolder, removeFolder } from "./cleanup.ts";
import { flowNode, newId, publishFlow } from "./flow-engine.ts";
import { makeEvent } from "./flow-matching.ts";
import { findCli, type HubProcess, startHub } from "./hub-process.ts";
import { type Load, startLoad } from "./load-process.ts";
import { TENANT } from "./seed.ts";
import { webhooksOf } from "./signed-webhooks.ts";
import { median, percentile, sorted } from "./statistics.ts";
import { figure, table, times } from "./table.ts";

const COUNTS = [10, 1_000, 10_000] as const;
const CONNECTIONS = 32;
/** Far below the capacity, to measure the event loop and not the queue. */
const RATE = 100;
const GOALS = { ratio: 1.3, healthMs: 50, bytes: 4_096, pageMs: 100 };

const BODY = Buffer.from(
  JSON.stringify({
    action: "opened",
    issue: { number: 7, title: "A lamp is out", html_url: "https://github.com/acme/none/issues/7" },
    repository: { full_name: "acme/none", html_url: "https://github.com/acme/none" },
    sender: { login: "ada" },
    labels: ["bug", "lamp"],
  }).padEnd(300),
);

const paramsOf = (at: number): JsonObject => ({
  action: "opened",
  "repository.full_name": `acme/repo-${at}`,
});

const eventNode = (at: number) =>
  flowNode("on", "Event", { source: "github", type: "issues", params: paramsOf(at) });

interface Line {
  flows: number;
  /** Microseconds to plan one event, with the triggers in the cache. */
  planned: number[];
  perSecond: number[];
  /** The slowest response at `RATE` in each round, and while a flow is published. */
  healthMs: number[];
  publishMs: number[];
  /** CPU time of the hub during one response: does not depend on other processes of the machine. */
  healthCpuMs: number[];
  publishCpuMs: number[];
  bytesPerWebhook: number;
  firstPageMs: number[];
  laterPageMs: number[];
}

interface Subject extends Line {
  data: string;
  hub: HubProcess;
  token: string;
}

export const matching: Benchmark = async ({ hub: cliPath, quick, reportProgress }) => {
  const cli = findCli(cliPath);
  const load = startLoad();
  const subjects: Subject[] = [];
  let isValid = true;
  try {
    for (const flows of COUNTS) {
      reportProgress(`matching: ${figure(flows)} flows`);
      const data = makeFolder();
      const token = createToken(cli, data, "admin");
      const planned = await storeFlows(data, flows, quick);
      const hub = await startHub({ cli, name: `${flows} flows`, data });
      subjects.push({ flows, data, token, hub, planned, ...EMPTY() });
    }
    for (let round = 0; round <= (quick ? 2 : 5); round += 1)
      for (const subject of subjects) {
        reportProgress(`matching: ${figure(subject.flows)} flows, round ${round}`);
        // Round 0 is the warm-up.
        isValid = (await measureRound(subject, load, round > 0)) && isValid;
      }
    for (const subject of subjects) {
      await measurePages(subject);
      subject.bytesPerWebhook = await measureBytes(subject, load);
    }
  } finally {
    for (const { hub, data } of subjects) {
      await hub.stop();
      removeFolder(data);
    }
  }
  const [few, , many] = subjects as [Subject, Subject, Subject];
  const ratio = median(many.planned) / median(few.planned);
  const health = Math.max(median(many.healthMs), median(many.publishMs));
  const page = percentile(sorted([...many.firstPageMs, ...many.laterPageMs]), 0.99);
  return {
    tables: [
      {
        title: `Webhooks of ${BODY.length} bytes, none of which matches, SQLite`,
        text: table(
          [
            "flows on the type",
            "matching, µs",
            "webhooks/s",
            "/healthz ms (CPU)",
            "during a publish",
            "bytes stored",
            "first page, ms",
            "later pages, ms",
          ],
          subjects.map((line) => [
            figure(line.flows),
            figure(median(line.planned)),
            figure(median(line.perSecond)),
            `${figure(median(line.healthMs))} (${figure(median(line.healthCpuMs))})`,
            `${figure(median(line.publishMs))} (${figure(median(line.publishCpuMs))})`,
            figure(line.bytesPerWebhook),
            figure(median(line.firstPageMs)),
            figure(median(line.laterPageMs)),
          ]),
        ),
      },
    ],
    goals: [
      {
        what: `Matching with ${figure(many.flows)} flows takes at most ${GOALS.ratio}× as long as with ${few.flows}`,
        isMet: ratio <= GOALS.ratio,
        result: times(ratio),
      },
      {
        what: `The slowest /healthz takes at most ${GOALS.healthMs} ms at ${RATE} webhooks per second, also during a publish`,
        isMet: health <= GOALS.healthMs,
        result: `${figure(health)} ms, median of the rounds`,
      },
      {
        what: `A webhook of ${BODY.length} bytes takes at most ${GOALS.bytes} bytes`,
        isMet: many.bytesPerWebhook <= GOALS.bytes,
        result: figure(many.bytesPerWebhook),
      },
      {
        what: `A page of an explanation takes at most ${GOALS.pageMs} ms`,
        isMet: page <= GOALS.pageMs,
        result: `${figure(page)} ms, p99`,
      },
    ],
    isValid,
    data: subjects.map(({ hub: _hub, data: _data, token: _token, ...line }) => line),
  };
};

const EMPTY = (): Omit<Line, "flows" | "planned"> => ({
  perSecond: [],
  healthMs: [],
  publishMs: [],
  healthCpuMs: [],
  publishCpuMs: [],
  bytesPerWebhook: 0,
  firstPageMs: [],
  laterPageMs: [],
});

/** Publishes the flows, and returns the time to plan an event. */
async function storeFlows(data: string, flows: number, quick: boolean): Promise<number[]> {
  const store = openSqlite(storeDefinition, join(data, "signalbox.db"));
  try {
    for (let at = 0; at < flows; at += 1) await publishFlow(store, [eventNode(at)]);
    const runJob = () => Promise.reject(new Error("unexpected job"));
    const matcher = createMatcher({
      store,
      runJob,
      newId,
      now: Date.now,
      maxChain: 5,
      maxLoops: 30,
    });
    const durations: number[] = [];
    const events = Array.from({ length: 5_000 }, () => makeEvent(BODY));
    for (let round = 0; round <= (quick ? 5 : 20); round += 1) {
      const startedAt = performance.now();
      for (const event of events) await matcher.plan({ tenant: TENANT, events: [event] });
      // Round 0 is the warm-up.
      if (round > 0) durations.push(((performance.now() - startedAt) * 1000) / events.length);
    }
    matcher.close();
    return durations;
  } finally {
    await store.close();
  }
}

async function measureRound(subject: Subject, load: Load, isMeasured: boolean): Promise<boolean> {
  const { hub } = subject;
  const bodies = Array.from({ length: CONNECTIONS }, () => BODY);
  const requests = webhooksOf(hub.port, bodies);
  const plan = { ...requests, connections: CONNECTIONS, requests: 1e6 };
  const full = await load.run({ ...plan, seconds: 2, rate: undefined });
  const probe = startHealthProbe(`http://127.0.0.1:${hub.port}`, hub.pid);
  try {
    await probe.report(); // discards the start of the probe
    const steady = await load.run({ ...plan, seconds: 2, rate: RATE });
    const steadyHealth = await probe.report();
    const publishing = load.run({ ...plan, seconds: 2, rate: RATE });
    await republish(subject);
    const changed = await publishing;
    const changedHealth = await probe.report();
    if (isMeasured) {
      subject.perSecond.push(full.perSecond);
      subject.healthMs.push(Math.max(...steadyHealth.latencies));
      subject.publishMs.push(Math.max(...changedHealth.latencies));
      subject.healthCpuMs.push(Math.max(...steadyHealth.cpuTimes));
      subject.publishCpuMs.push(Math.max(...changedHealth.cpuTimes));
    }
    return full.isValid && steady.isValid && changed.isValid;
  } finally {
    probe.stop();
  }
}

async function call(subject: Subject, route: string, method = "GET"): Promise<JsonObject> {
  const response = await fetch(`http://127.0.0.1:${subject.hub.port}${route}`, {
    method,
    headers: { authorization: `Bearer ${subject.token}`, "content-type": "application/json" },
    ...(method === "GET" ? {} : { body: "{}" }),
  });
  if (!response.ok) throw new Error(`${route}: ${response.status} ${await response.text()}`);
  return (await response.json()) as JsonObject;
}

const firstItem = (page: JsonObject) => (page.items as JsonObject[])[0] as { id: string };

async function republish(subject: Subject): Promise<void> {
  const { id } = firstItem(await call(subject, "/api/flows?limit=1"));
  await call(subject, `/api/flows/${id}/publish`, "POST");
}

/** Reads the explanation of the newest event, to the end. */
async function measurePages(subject: Subject): Promise<void> {
  for (let round = 0; round < 3; round += 1) {
    const { id } = firstItem(await call(subject, "/api/events?limit=1"));
    let cursor: string | null = "";
    while (cursor !== null) {
      const startedAt = performance.now();
      const query: string = cursor === "" ? "" : `?cursor=${encodeURIComponent(cursor)}`;
      const page: JsonObject = await call(subject, `/api/events/${id}/explain${query}`);
      const took = performance.now() - startedAt;
      (cursor === "" ? subject.firstPageMs : subject.laterPageMs).push(took);
      cursor = page.next_cursor as string | null;
    }
  }
  // With ten flows, there is one page.
  if (subject.laterPageMs.length === 0) subject.laterPageMs.push(0);
}

/** The growth of the database file. Free pages of the first webhooks are used up before. */
async function measureBytes({ data, hub }: Subject, load: Load): Promise<number> {
  const bodies = Array.from({ length: CONNECTIONS }, () => BODY);
  const requests = webhooksOf(hub.port, bodies);
  const sizeOf = (suffix: string) => {
    const file = statSync(join(data, `signalbox.db${suffix}`), { throwIfNoEntry: false });
    return file?.size ?? 0;
  };
  const before = sizeOf("");
  const stored = await load.run({
    ...requests,
    connections: CONNECTIONS,
    requests: 20_000,
    seconds: 60,
    rate: undefined,
  });
  await hub.stop();
  // The hub writes the WAL to the file when it stops.
  if (sizeOf("-wal") > 0) throw new Error("the WAL is not empty");
  return (sizeOf("") - before) / stored.accepted;
}
