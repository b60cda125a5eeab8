/** What a crash of the server's process leaves: every event that `notify` has resolved. */
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

async function start(...args: string[]): Promise<ChildProcess> {
  const child = spawn(process.execPath, [FIXTURE, join(folder, "triggers.json"), ...args], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  children.push(child);
  await once(child.stdout, "data");
  return child;
}

it("a process killed between notify and delivery: the next one delivers each event once", async () => {
  hub.answer = () => 503;
  const first = await start(hub.url, "evt-1", "evt-2", "evt-3");
  await until(() => expect(hub.received.length).toBeGreaterThan(0));
  const ended = once(first, "exit");
  first.kill("SIGKILL");
  await ended;
  hub.received.length = 0;
  hub.answer = () => 202;
  const second = await start();
  await until(() => expect(hub.received).toHaveLength(3));
  expect(hub.received.map(({ body }) => body?.id)).toEqual(["evt-1", "evt-2", "evt-3"]);
  const secondEnded = once(second, "exit");
  second.stdin?.end();
  await secondEnded;
  // Nothing is left for a third.
  await start(hub.url, "evt-4");
  await until(() => expect(hub.received.at(-1)?.body?.id).toBe("evt-4"));
  expect(hub.received).toHaveLength(4);
});

it("after a restart, a trigger that was enabled before stays enabled", async () => {
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
