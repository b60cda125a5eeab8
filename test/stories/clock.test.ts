/** A hub whose wall clock is set back by an hour, and forward by 100 days. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, vi } from "vitest";
import { startApi } from "../support/api-client.ts";
import { deliver } from "../support/deliver.ts";
import { startHubProcess } from "../support/hub-process.ts";
import { tempFolder } from "../support/temp-folder.ts";
import { WAIT } from "../support/timeouts.ts";

const HOUR = 3_600_000;
const HOOK = new URL("../support/clock-shift.mjs", import.meta.url).href;

it("keeps revoked tokens revoked, and pending events stored", async () => {
  const file = join(tempFolder(), "shift");
  writeFileSync(file, "0");
  const {
    hub,
    env,
    call,
    expect: expectStatus,
  } = await startApi("SQLite", {
    NODE_OPTIONS: `--import=${HOOK}`,
    CLOCK_SHIFT: file,
  });
  const shift = async (ms: number) => {
    writeFileSync(file, String(ms));
    process.kill(hub.pid, "SIGUSR2");
    await vi.waitFor(() => expect(hub.output()).toContain(`shifted by ${ms} ms`), WAIT);
  };
  const pending = async () => (await call("GET", "/pending-status")).json.pending_count;
  for (let nth = 0; nth < 5; nth += 1) expect((await deliver(hub.url)).status).toBe(202);
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
  await shift(-HOUR);
  await expectStatus(200, "GET", "/pending-status", undefined, { token });
  await call("DELETE", `/api/tokens/${id}`);
  await vi.waitFor(
    async () =>
      expect((await call("GET", "/pending-status", undefined, { token })).status).toBe(401),
    WAIT,
  );
  await stream.body?.pipeTo(new WritableStream()); // it ends
  expect((await deliver(hub.url)).status).toBe(202);

  await shift(100 * 24 * HOUR);
  await vi.waitFor(() => expect(hub.output()).toMatch(/"days":100.*the clock is ahead/), WAIT);
  expect((await deliver(hub.url)).status).toBe(202);
  expect(await pending()).toBe(7);
  expect((await call("GET", "/pending-status", undefined, { token })).status).toBe(401);

  // Another process compares with the time that the first one has stored.
  expect(await hub.stop()).toBe(0);
  const data = env.SIGNALBOX_DATA ?? "";
  const restarted = await startHubProcess({ data, env: { ...env, PORT: new URL(hub.url).port } });
  try {
    await vi.waitFor(() => expect(restarted.output()).toContain("the clock is ahead"), WAIT);
    expect(await pending()).toBe(7);
  } finally {
    await restarted.stop();
  }
}, 300_000);
