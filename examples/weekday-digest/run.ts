/**
 * Every weekday morning, the open pull requests of a repository become one event. Here, a fake server
 * returns the pull requests. The example checks when the schedule fires next, and starts a run manually
 * instead of waiting for it.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { openHub, readFlow, waitFor } from "../hub.ts";

const github = createServer((_, response) => {
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify([{ title: "Fix the light" }, { title: "Paint the door" }]));
}).listen(0, "127.0.0.1");
await once(github, "listening");
const githubUrl = `http://127.0.0.1:${(github.address() as AddressInfo).port}`;

interface Flow {
  schedules: { cron: string; timeZone: string; next_fire_at: string }[];
}

const hub = await openHub({ SIGNALBOX_ALLOW_PRIVATE: "127.0.0.1" });
try {
  const flow = readFlow(import.meta.url, { "https://api.github.com": githubUrl });
  const id = await hub.install("digest", flow);

  const { schedules } = await hub.api<Flow>("GET", `/api/flows/${id}`);
  const nextFire = new Date(schedules[0]?.next_fire_at ?? 0);
  assert.ok(nextFire.getTime() > Date.now());
  const inBerlin = new Intl.DateTimeFormat("en-GB", {
    timeZone: "Europe/Berlin",
    weekday: "short",
    hour: "2-digit",
    minute: "2-digit",
  }).format(nextFire);
  assert.match(inBerlin, /^(Mon|Tue|Wed|Thu|Fri),? 08:00$/);

  // A manual run gets the input of a tick that fires now: { scheduled_at, fired_at, time_zone, missed }.
  const run = await hub.api<{ status: string; input: { time_zone: string; missed: number } }>(
    "POST",
    `/api/flows/${id}/runs?wait=1`,
    { trigger: "weekday_morning" },
  );
  assert.equal(run.status, "succeeded");
  assert.equal(run.input.time_zone, "Europe/Berlin");
  assert.equal(run.input.missed, 0);

  const [digest] = await waitFor(async () => {
    const events = await hub.api<{ title: string }[]>("GET", "/pending-events?type=pull_digest");
    return events.length > 0 ? events : undefined;
  });
  assert.equal(digest?.title, "2 open pull requests");
  console.log(`✓ one digest; the next one is due on ${nextFire.toISOString()}`);
} finally {
  await hub.stop();
  github.close();
}
