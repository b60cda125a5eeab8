/** The wall clock of a running hub is set back or forward. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { ADMIN, startApi } from "../support/api-client.ts";
import { deliver } from "../support/deliver.ts";
import { type HubProcess, runCli, startHubProcess } from "../support/hub-process.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { WAIT } from "../support/timeouts.ts";

const HOUR = 3_600_000;
const CLOCK_SHIFT_MODULE = new URL("../support/clock-shift.mjs", import.meta.url).href;

/** Starts a hub whose wall clock `shiftClock` shifts. Retention sweeps about every second. */
async function startShifted() {
  const shiftFile = join(tempFolder(), "shift");
  writeFileSync(shiftFile, "0");
  const api = await startApi("SQLite", {
    NODE_OPTIONS: `--import=${CLOCK_SHIFT_MODULE}`,
    CLOCK_SHIFT: shiftFile,
  });
  const shiftClock = async (hub: HubProcess, ms: number) => {
    writeFileSync(shiftFile, String(ms));
    process.kill(hub.pid, "SIGUSR2");
    await vi.waitFor(() => expect(hub.output()).toContain(`shifted by ${ms} ms`), WAIT);
  };
  return { ...api, shiftClock };
}

it("a new hub keeps pending events when its clock steps forward before the first sweep", async () => {
  const { hub, env, shiftClock } = await startShifted();
  for (let count = 0; count < 20; count += 1) expect((await deliver(hub.url)).status).toBe(202);
  expect(await hub.stop()).toBe(0);
  const data = env.SIGNALBOX_DATA ?? "";
  const restarted = await startHubProcess({ data, env: { ...env, PORT: new URL(hub.url).port } });
  try {
    for (let count = 0; count < 20; count += 1)
      expect((await deliver(restarted.url)).status).toBe(202);
    await shiftClock(restarted, 400 * 24 * HOUR);
    await vi.waitFor(
      () => expect(restarted.output()).toMatch(/"days":400.*the clock is ahead/),
      WAIT,
    );
    const diagnose = async (...args: string[]) =>
      (await runCli(["doctor", ...args], { env })).stdout;
    expect(await diagnose()).toContain("retention    the clock is 400 days ahead of");
    expect(await diagnose("--accept-clock")).toContain("retention    follows the clock");
    await vi.waitFor(async () => expect(await diagnose()).toContain("follows the clock"), WAIT);
    const status = await fetch(`${restarted.url}/pending-status`, {
      headers: { authorization: `Bearer ${ADMIN}` },
    });
    expect(await status.json()).toMatchObject({ pending_count: 40 });
    expect(restarted.output()).not.toContain("were removed");
  } finally {
    await restarted.stop();
  }
}, 300_000);

it("a hub keeps tokens revoked and pending events stored when its clock is set back or forward", async () => {
  const { hub, env, call, expect: expectStatus, shiftClock } = await startShifted();
  const countPending = async () => (await call("GET", "/pending-status")).json.pending_count;
  for (let count = 0; count < 5; count += 1) expect((await deliver(hub.url)).status).toBe(202);
  const { json } = await expectStatus(201, "POST", "/api/tokens", {
    name: "revoked",
    scopes: ["inbox:read"],
  });
  const { id, token } = json;
  const stream = await fetch(`${hub.url}/events`, {
    headers: { authorization: `Bearer ${token}` },
  });
  expect(stream.status).toBe(200);

  // The token is in the cache when the clock is set back.
  await expectStatus(200, "GET", "/pending-status", undefined, { token });
  await shiftClock(hub, -HOUR);
  await expectStatus(200, "GET", "/pending-status", undefined, { token });
  await call("DELETE", `/api/tokens/${id}`);
  await vi.waitFor(
    async () =>
      expect((await call("GET", "/pending-status", undefined, { token })).status).toBe(401),
    WAIT,
  );
  await stream.body?.pipeTo(new WritableStream()); // resolves when the hub ends the stream
  expect((await deliver(hub.url)).status).toBe(202);

  await shiftClock(hub, 100 * 24 * HOUR);
  await vi.waitFor(() => expect(hub.output()).toMatch(/"days":100.*the clock is ahead/), WAIT);
  expect((await deliver(hub.url)).status).toBe(202);
  expect(await countPending()).toBe(7);
  expect((await call("GET", "/pending-status", undefined, { token })).status).toBe(401);

  // The restarted hub compares its clock with the time that the first process has stored.
  expect(await hub.stop()).toBe(0);
  const data = env.SIGNALBOX_DATA ?? "";
  const restarted = await startHubProcess({ data, env: { ...env, PORT: new URL(hub.url).port } });
  try {
    await vi.waitFor(() => expect(restarted.output()).toContain("the clock is ahead"), WAIT);
    expect(await countPending()).toBe(7);
  } finally {
    await restarted.stop();
  }
}, 300_000);
