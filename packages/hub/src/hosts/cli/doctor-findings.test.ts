import { expect, it } from "vitest";
import { acceptClock, readClock, startClock } from "../../events/retention/retention-clock.ts";
import { describeRetentionClock, describeSecrets, describeSize } from "./doctor-findings.ts";

it("reports the webhook secrets, and whether they are from a running hub or from this terminal", () => {
  const shared = { signed: ["github"], unsigned: false };
  expect(describeSecrets(shared, 0)).toEqual({
    check: "secrets",
    state: "ok",
    says: "set for github",
  });
  expect(describeSecrets(shared, 2).says).toBe("set for github, and 2 for endpoints with a key");
  expect(describeSecrets({ signed: [], unsigned: true }, 0)).toMatchObject({
    state: "warning",
    says: expect.stringMatching(/^none; unsigned webhooks .* accepted from this machine$/),
  });
  expect(describeSecrets({ ...shared, unsigned: true }, 0).state).toBe("warning");
  expect(describeSecrets({ signed: [], unsigned: false, isFromTerminal: true }, 0).says).toBe(
    "none (settings of this terminal; a running hub has its own)",
  );
});

it("reports a clock that retention does not follow, until it is accepted", () => {
  const day = 24 * 3_600_000;
  const wall = 500 * day;
  const ahead = readClock(startClock(100 * day, wall), { wall });
  expect(describeRetentionClock(undefined, wall)).toBeUndefined();
  expect(describeRetentionClock(ahead, wall)).toMatchObject({
    state: "warning",
    says: expect.stringContaining("400 days ahead of"),
    fix: expect.stringContaining("doctor --accept-clock"),
  });
  expect(describeRetentionClock(acceptClock(ahead, wall), wall)).toMatchObject({ state: "ok" });
});

it("reports the size of the database, and a file that cannot return much free space", () => {
  const mebibyte = 1024 ** 2;
  const size = { disk: 100 * mebibyte, free: 80 * mebibyte, wal: mebibyte / 2 };
  const says = "100.0 MiB, of it WAL 0.5 MiB, 80.0 MiB free";
  expect(describeSize(size, { canShrink: true })).toEqual({ check: "size", state: "ok", says });
  expect(describeSize(size, { canShrink: false })).toMatchObject({
    state: "warning",
    says: expect.stringContaining(says),
    fix: expect.stringContaining("signalbox compact"),
  });
  expect(describeSize({ ...size, free: mebibyte }, { canShrink: false }).state).toBe("ok");
  expect(describeSize({ disk: mebibyte, free: null, wal: null }, undefined)).toMatchObject({
    state: "ok",
    says: "1.0 MiB",
  });
});
