import { expect, it } from "vitest";
import { createTestTimers } from "../lib/test-timers.ts";
import { createOutageLog } from "./outage-log.ts";

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
  outages.onSuccess();
  expect(lines).toEqual([lost]);
  timers.advance(30_000);
  outages.onDisconnect(new Error("reset"));
  expect(lines).toEqual([lost, lost]);
  timers.advance(30_000);
  outages.onFailure(new Error("refused"));
  outages.onDisconnect(new Error("refused"));
  expect(lines.slice(2)).toEqual(["error the database is unavailable: requests get 503"]);
});

it("logs the start of an outage, then the number of failures every 30 seconds, then the end", () => {
  const timers = createTestTimers();
  const lines: [string, object][] = [];
  const write = (facts: object, message: string) => void lines.push([message, facts]);
  const outages = createOutageLog({ log: { warn: write, error: write }, timers });
  const refused = Object.assign(new Error("connection refused"), { client: { secretKey: 1 } });

  outages.onSuccess();
  for (let failures = 0; failures < 31; failures += 1) {
    outages.onFailure(refused);
    timers.advance(1_000);
  }
  outages.onFailure(refused);
  outages.onSuccess(); // too soon after a failure to end the outage
  timers.advance(1_000);
  outages.onSuccess();
  outages.onSuccess();
  expect(lines).toEqual([
    ["the database is unavailable: requests get 503", { reason: "connection refused" }],
    [
      "the database is still unavailable",
      { failures: 31, seconds: 30, reason: "connection refused" },
    ],
    ["the database is available again", { failures: 32, seconds: 32 }],
  ]);
});
