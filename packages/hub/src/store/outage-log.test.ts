import { expect, it } from "vitest";
import { createTestTimers } from "../lib/test-timers.ts";
import { createOutageLog } from "./outage-log.ts";

it("reports a lost connection as a warning, and only outside of outages", () => {
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
  outages.disconnected(new Error("reset"));
  outages.disconnected(new Error("reset"));
  outages.succeeded();
  expect(lines).toEqual([lost]);
  timers.advance(30_000);
  outages.disconnected(new Error("reset"));
  expect(lines).toEqual([lost, lost]);
  timers.advance(30_000);
  outages.failed(new Error("refused"));
  outages.disconnected(new Error("refused"));
  expect(lines.slice(2)).toEqual(["error the database is unavailable: requests get 503"]);
});

it("logs an outage once, then counts, then its end", () => {
  const timers = createTestTimers();
  const lines: [string, object][] = [];
  const write = (facts: object, message: string) => void lines.push([message, facts]);
  const outages = createOutageLog({ log: { warn: write, error: write }, timers });
  const refused = Object.assign(new Error("connection refused"), { client: { secretKey: 1 } });

  outages.succeeded();
  for (let nth = 0; nth < 31; nth += 1) {
    outages.failed(refused);
    timers.advance(1_000);
  }
  outages.failed(refused);
  outages.succeeded(); // an operation that was faster than the outage
  timers.advance(1_000);
  outages.succeeded();
  outages.succeeded();
  expect(lines).toEqual([
    ["the database is unavailable: requests get 503", { reason: "connection refused" }],
    [
      "the database is still unavailable",
      { failures: 31, seconds: 30, reason: "connection refused" },
    ],
    ["the database is available again", { failures: 32, seconds: 32 }],
  ]);
});
