import { expect, it } from "vitest";
import { createTestTimers } from "../lib/test-timers.ts";
import { createOutageLog, StorageDamaged } from "./availability.ts";

const READ = { writes: false };
const WRITE = { writes: true };

it("logs a lost connection as a warning, at most every 30 seconds, and not during an outage", () => {
  const timers = createTestTimers();
  const lines: string[] = [];
  const outages = createOutageLog({
    log: {
      warn: (_, message) => void lines.push(`warn ${message}`),
      error: (_, message) => void lines.push(`error ${message}`),
    },
    timers,
  });
  const lost = "warn lost a connection to the database; opening another one";
  outages.onDisconnect(new Error("reset"));
  outages.onDisconnect(new Error("reset"));
  outages.onSuccess(READ);
  expect(lines).toEqual([lost]);
  timers.advance(30_000);
  outages.onDisconnect(new Error("reset"));
  expect(lines).toEqual([lost, lost]);
  timers.advance(30_000);
  outages.onFailure(new Error("refused"), READ);
  outages.onDisconnect(new Error("refused"));
  expect(lines.slice(2)).toEqual(["error the database is unavailable: requests get 503"]);
});

it("logs the start of an outage, then the number of failures every 30 seconds, then the end", () => {
  const timers = createTestTimers();
  const lines: [string, object][] = [];
  const write = (facts: object, message: string) => void lines.push([message, facts]);
  const outages = createOutageLog({ log: { warn: write, error: write }, timers });
  const refused = Object.assign(new Error("connection refused"), { client: { secretKey: 1 } });

  outages.onSuccess(READ);
  for (let failures = 0; failures < 31; failures += 1) {
    outages.onFailure(refused, READ);
    timers.advance(1_000);
  }
  outages.onFailure(refused, READ);
  outages.onSuccess(READ); // too soon after a failure to end the outage
  timers.advance(1_000);
  outages.onSuccess(READ);
  outages.onSuccess(READ);
  expect(lines).toEqual([
    ["the database is unavailable: requests get 503", { reason: "connection refused" }],
    [
      "the database is still unavailable",
      { failures: 31, seconds: 30, reason: "connection refused" },
    ],
    ["the database is available again", { failures: 32, seconds: 32 }],
  ]);
});

it("does not end an outage of writes with reads that succeed", () => {
  const timers = createTestTimers();
  const lines: string[] = [];
  const write = (_: object, message: string) => void lines.push(message);
  const outages = createOutageLog({ log: { warn: write, error: write }, timers });
  for (let seconds = 0; seconds < 20; seconds += 4) {
    outages.onFailure(new Error("read-only"), WRITE);
    timers.advance(2_000);
    outages.onSuccess(READ);
    timers.advance(2_000);
  }
  expect(lines).toEqual(["the database is unavailable: requests get 503"]);
  outages.onSuccess(WRITE);
  expect(lines.slice(1)).toEqual(["the database is available again"]);
});

it("logs a damaged file every 30 seconds, and never its end", () => {
  const timers = createTestTimers();
  const lines: [string, object][] = [];
  const write = (facts: object, message: string) => void lines.push([message, facts]);
  const outages = createOutageLog({ log: { warn: write, error: write }, timers });
  for (let seconds = 0; seconds <= 30; seconds += 10) {
    outages.onFailure(new StorageDamaged("x.db is damaged"), READ);
    outages.onSuccess(WRITE);
    timers.advance(10_000);
  }
  const damaged = "the database is damaged: requests get 503";
  expect(lines).toEqual([
    [damaged, { reason: "x.db is damaged", failures: 1 }],
    [damaged, { reason: "x.db is damaged", failures: 4 }],
  ]);
});
