/** After a crash of the server's process, every event whose `notify` has resolved is delivered. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { createTriggers } from "./index.ts";
import { sqliteStorage } from "./sqlite-storage.ts";
import { configure, quickRetries } from "./test-support.ts";
import { type CallbackReceiver, openCallbackReceiver } from "./testing/callback-receiver.ts";

const FIXTURE = new URL("./restart.fixture.ts", import.meta.url).pathname;
const until = (condition: () => void) => vi.waitFor(condition, { timeout: 60_000, interval: 20 });

let folder: string;
let hub: CallbackReceiver;
const children: ChildProcess[] = [];
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "triggers-"));
  hub = await openCallbackReceiver();
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  await hub.close();
  rmSync(folder, { recursive: true, force: true });
});

/** `stored` returns the ids of the events whose `notify` has resolved. */
async function startServer(...args: string[]) {
  const child = spawn(process.execPath, [FIXTURE, join(folder, "triggers.json"), ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  children.push(child);
  let output = "";
  child.stdout.on("data", (chunk) => {
    output += chunk;
  });
  // The first line is "started". The last line may be incomplete.
  const stored = () => output.split("\n").slice(1, -1);
  const endWith = async (action: () => unknown) => {
    const closed = once(child, "close");
    action();
    await closed;
  };
  await until(() => expect(output).toContain("started"));
  return {
    stored,
    kill: () => endWith(() => child.kill("SIGKILL")),
    stop: () => endWith(() => child.stdin.end()),
  };
}

it("delivers each event once after the process was killed between notify and delivery", async () => {
  hub.answer = () => 503;
  const ids = ["evt-1", "evt-2", "evt-3"];
  const first = await startServer(hub.url, ...ids);
  await until(() => expect(first.stored()).toEqual(ids));
  await first.kill();
  hub.received.length = 0;
  hub.answer = () => 202;
  const second = await startServer();
  await until(() => expect(hub.received).toHaveLength(3));
  expect(hub.received.map(({ body }) => body?.id)).toEqual(ids);
  await second.stop();
  // No event is left for a third process.
  await startServer(hub.url, "evt-4");
  await until(() => expect(hub.received.at(-1)?.body?.id).toBe("evt-4"));
  expect(hub.received).toHaveLength(4);
});

it("delivers every event whose notify had resolved before the process was killed", async () => {
  for (let round = 1; round <= 3; round++) {
    hub.answer = () => 503;
    const server = await startServer(hub.url, `round-${round}-*`);
    await until(() => expect(server.stored().length).toBeGreaterThan(10 * round));
    await server.kill();
    const stored = server.stored();
    hub.received.length = 0;
    hub.answer = () => 202;
    const next = await startServer();
    // The storage may have one more event, whose notify had not resolved.
    const delivered = () =>
      hub.received.map(({ body }) => String(body?.id)).filter((id) => stored.includes(id));
    await until(() => expect(delivered()).toContain(stored.at(-1)));
    expect(delivered()).toEqual(stored);
    await next.stop();
  }
});

it("keeps a trigger enabled after a restart", async () => {
  const open = () => {
    const database = new DatabaseSync(join(folder, "triggers.db"));
    const triggers = createTriggers({
      definitions: [
        { type: "a", description: "A." },
        { type: "b", description: "B." },
      ],
      storage: sqliteStorage(database),
      ...quickRetries,
    });
    return { triggers, close: () => triggers.close().then(() => database.close()) };
  };
  const first = open();
  const callback = { callbackUrl: hub.url, callbackToken: "t" };
  await configure(first.triggers, { type: "a", ...callback });
  await first.close();

  const second = open();
  await configure(second.triggers, { type: "b", ...callback });
  for (const type of ["a", "b"] as const) await second.triggers.notify("c", type, {});
  await second.triggers.flush();
  expect(hub.received.map(({ body }) => body?.type).sort()).toEqual(["a", "b"]);
  await second.close();
});
