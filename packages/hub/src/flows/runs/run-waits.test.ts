import { expect, test } from "vitest";
import { createTestTimers } from "../../kernel/lib/test-timers.ts";
import type { RunWait } from "./model.ts";
import { createOutboundLimits, createRunWaits, outboundOrigin } from "./run-waits.ts";

const ORIGIN = "https://api.example";
const run = (id: string, tenant = "acme") => ({ id, tenant, app: "desk", flow_id: "f" });

function open() {
  const timers = createTestTimers(5_000);
  const reports: (RunWait & { tenant: string })[][] = [];
  const waits = createRunWaits({
    store: { saveRunWaits: async (_worker, _at, report) => void reports.push([...report]) },
    worker: "w",
    originRequests: 1,
    timers,
    onError: (error) => expect.unreachable(String(error)),
  });
  const advance = async (ms: number) => {
    timers.advance(ms);
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { timers, reports, waits, advance };
}

test("reports the waits of a flow as one group, and again only when they change", async () => {
  const { timers, reports, waits, advance } = open();
  const ends = ["r1", "r2"].map((id) => waits.begin(run(id), "response", ORIGIN));
  waits.begin(run("r3", "umbrella"), "limit", ORIGIN);
  await advance(2_000);
  const group = { app: "desk", flow_id: "f", target: ORIGIN, since: 5_000 };
  const response = { ...group, tenant: "acme", kind: "response", runs: 2, run_ids: ["r1", "r2"] };
  const limit = { ...group, tenant: "umbrella", kind: "limit", runs: 1, run_ids: ["r3"] };
  expect(reports).toEqual([[response, limit]]);
  await advance(2_000);
  await advance(2_000);
  expect(reports).toHaveLength(1);
  ends[0]?.();
  await advance(2_000);
  expect(reports.slice(1)).toEqual([[{ ...response, runs: 1, run_ids: ["r2"] }, limit]]);
  for (let at = 0; at < 20_000; at += 2_000) await advance(2_000);
  expect(reports).toHaveLength(3);
  await waits.close();
  expect(reports.at(-1)).toEqual([]);
  expect(timers.pending()).toBe(0);
});

test("counts a run once if several of its branches wait for the same thing", async () => {
  const { reports, waits, advance } = open();
  for (const id of ["r1", "r1", "r2"]) waits.begin(run(id), "response", ORIGIN);
  await advance(2_000);
  expect(reports).toMatchObject([[{ runs: 2, run_ids: ["r1", "r2"] }]]);
});

test("reports no short waits, and sets no timer without waits", async () => {
  const { timers, reports, waits, advance } = open();
  expect(timers.pending()).toBe(0);
  waits.begin(run("r1"), "response", ORIGIN)();
  await advance(1_500);
  const end = waits.begin(run("r2"), "response", ORIGIN);
  await advance(500);
  end();
  await advance(2_000);
  expect(reports).toEqual([]);
  expect(timers.pending()).toBe(0);
  const endLong = waits.begin(run("r3"), "run", "called");
  await advance(2_000);
  endLong();
  await advance(2_000);
  expect(reports).toMatchObject([[{ run_ids: ["r3"] }], []]);
  expect(timers.pending()).toBe(0);
});

test("limits the groups of each tenant and the ids of a report", async () => {
  const { reports, waits, advance } = open();
  for (let at = 0; at < 120; at += 1)
    waits.begin(run(`r${at >> 1}-${at}`), "response", `${ORIGIN}/${at >> 1}`);
  for (let at = 0; at < 15; at += 1) waits.begin(run(`s${at}`), "response", ORIGIN);
  waits.begin(run("t", "umbrella"), "response", ORIGIN);
  await advance(2_000);
  const ofTenant = (name: string) => reports[0]?.filter(({ tenant }) => tenant === name);
  // One more than the hub shows, from which readers know that there are more.
  expect(ofTenant("acme")).toHaveLength(51);
  expect(ofTenant("acme")?.[0]).toMatchObject({ runs: 15, run_ids: { length: 10 } });
  expect(ofTenant("umbrella")).toMatchObject([{ runs: 1, run_ids: ["t"] }]);
});

const flow = ["tenant", "app", "flow"];
const { signal } = new AbortController();

test("reports the wait for the limit of an origin, then the wait for the response", async () => {
  const { reports, waits, advance } = open();
  const end = await waits.enterOrigin(run("r1"), ORIGIN, { signal });
  const entering = waits.enterOrigin(run("r2"), ORIGIN, { signal });
  await advance(2_000);
  expect(reports.at(-1)).toMatchObject([
    { kind: "response", run_ids: ["r1"] },
    { kind: "limit", run_ids: ["r2"] },
  ]);
  end();
  const endSecond = await entering;
  await advance(2_000);
  expect(reports.at(-1)).toMatchObject([{ kind: "response", run_ids: ["r2"] }]);
  endSecond();
  await advance(2_000);
  expect(reports.at(-1)).toEqual([]);
});

test("limits the requests of each origin, and lists what waits for which", async () => {
  const limits = createOutboundLimits(6);
  const releases = [];
  for (let index = 0; index < 4; index += 1)
    releases.push(await limits.enter("https://dead.example", flow, { signal }));
  const events: string[] = [];
  const waiting = limits.enter("https://dead.example", flow, {
    signal,
    onQueued() {
      events.push("queued");
      return () => events.push("entered");
    },
  });
  // Other origins, and other flows at this origin, do not wait.
  (await limits.enter("https://alive.example", flow, { signal }))();
  (await limits.enter("https://dead.example", ["other"], { signal }))();
  expect(limits.list()).toEqual([
    { origin: "https://dead.example", open: 4, waiting: [{ path: flow, count: 1 }] },
  ]);
  releases[0]?.();
  const release = await waiting;
  expect(events).toEqual(["queued", "entered"]);
  for (const leave of [release, ...releases]) leave();
  expect(limits.list()).toEqual([]);
});

test("rejects a request that is aborted while it waits, and keeps no place for it", async () => {
  const limits = createOutboundLimits(1);
  const release = await limits.enter("o", flow, { signal });
  const controller = new AbortController();
  const waiting = limits.enter("o", flow, { signal: controller.signal });
  controller.abort(new Error("cancelled"));
  await expect(waiting).rejects.toThrow("cancelled");
  await expect(limits.enter("o", flow, { signal: controller.signal })).rejects.toThrow("cancelled");
  release();
  expect(limits.list()).toEqual([]);
});

test("applies the limit to the origin of a URL", () => {
  expect(outboundOrigin("https://user@x.example:8443/path?query")).toBe("https://x.example:8443");
  expect(outboundOrigin("not a URL")).toBe("invalid URL");
});
