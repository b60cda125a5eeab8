/**
 * The promise: every acknowledged webhook reaches every client once and in order. Clients are
 * disconnected, and the bridge and the hub are killed, at random moments that a seed determines.
 */
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFailed, onTestFinished } from "vitest";
import { type BridgeProcess, type Ending, startBridgeProcess } from "../support/bridge-process.ts";
import { deliver, issueOpened, SECRET } from "../support/deliver.ts";
import { fixedPort } from "../support/fixed-port.ts";
import { type HubProcess, startHubProcess } from "../support/hub-process.ts";
import {
  createResumingClient,
  type Open,
  overMcp,
  overSse,
  overWebSocket,
} from "../support/resuming-client.ts";
import { tempFolder } from "../support/temp-folder.ts";

const TOKEN = "sbx_never_lost_story_0123456789";
const bearer = { authorization: `Bearer ${TOKEN}` };

/** The webhooks are numbered from 0. One more webhook, with this number, is sent at the end. */
const WEBHOOKS = 1_000;
const CONCURRENT_SENDERS = 4;
const DISCONNECTS = 12;
const BRIDGE_ENDS: Ending[] = [
  "SIGKILL",
  "SIGKILL",
  "SIGKILL",
  "SIGTERM",
  "close stdin",
  "close stdin",
];
const HUB_KILLS = 2;

it("every client gets a thousand events once and in order, although processes are killed", async () => {
  const seed = Number(process.env.STORY_SEED ?? randomSeed());
  onTestFailed(() =>
    console.error(`To repeat the test with the same moments, set STORY_SEED=${seed}`),
  );
  const random = createRandom(seed);
  const hub = await startRestartableHub();

  const clients = Object.entries<Open>({
    sse: overSse(hub.url, bearer),
    webSocket: overWebSocket(hub.url, bearer),
    mcp: overMcp(hub.url, bearer, "github.issues"),
  }).map(([name, open]) => {
    const client = createResumingClient(open);
    onTestFinished(client.stop);
    return { name, ...client };
  });
  const bridge = startRestartableBridge(hub.url);

  // The first disconnect happens before the first event, when the clients have only their start cursor.
  for (const { cursor } of clients) await expect.poll(cursor).toMatch(/^0(@|$)/);
  await expect.poll(bridge.cursor).toBe("0");
  for (const client of clients) client.disconnect();
  const bridgeEnds = shuffle(BRIDGE_ENDS, random);
  void bridge.end(bridgeEnds[0] ?? "SIGKILL");

  /** Each action runs before the webhook with the number `before` is sent. */
  const actions: { before: number; run(): void }[] = [];
  const schedule = (count: number, run: (index: number) => void) => {
    for (let index = 0; index < count; index += 1)
      actions.push({ before: Math.floor(random() * WEBHOOKS), run: () => run(index) });
  };
  for (const client of clients) schedule(DISCONNECTS, client.disconnect);
  schedule(bridgeEnds.length - 1, (index) => void bridge.end(bridgeEnds[index + 1] ?? "SIGKILL"));
  schedule(HUB_KILLS, () => void hub.killAndRestart());

  const numbers = await sendAll((number) => {
    for (const { before, run } of actions) if (before === number) run();
    return random() * 60;
  });

  // A duplicate would arrive before this last event.
  await hub.ready();
  await bridge.ready();
  numbers.add(await sendOne(WEBHOOKS));
  const log = (await readLog(hub.url)).map(numbers.of);
  expect(log.toSorted((a, b) => a - b)).toEqual(numbersUpTo(WEBHOOKS));
  for (const { name, ids } of clients) {
    await expect.poll(() => ids().map(numbers.of).at(-1), { message: name }).toBe(WEBHOOKS);
    expect(ids().map(numbers.of), name).toEqual(log);
  }
  const positions = new Map(log.map((number, position) => [number, position]));
  const positionOf = (id: string) => positions.get(numbers.of(id)) ?? Number.NaN;
  await expect.poll(() => positionOf(bridge.last()?.meta.message_id ?? "")).toBe(WEBHOOKS);
  expectAnnouncedInOrder(bridge.processes, positionOf);

  async function sendOne(number: number): Promise<{ number: number; ids: string[] }> {
    const deliveryId = randomUUID();
    const issue = { ...issueOpened.issue, title: `number ${number}` };
    const body = JSON.stringify({ ...issueOpened, issue });
    for (;;) {
      const response = await deliver(hub.url, { id: deliveryId, body }).catch(() => undefined);
      // A webhook without an acknowledgement is sent again with the same id.
      const result = response?.ok
        ? await (response.json() as Promise<{ id: string }>).catch(() => undefined)
        : undefined;
      if (result) return { number, ids: [deliveryId, result.id] };
      if (response && response.status < 500 && !response.ok)
        throw new Error(`rejected: ${response.status} ${await response.text()}`);
      await sleep(20);
    }
  }

  /** Sends all webhooks. Returns their numbers, by delivery id and by event id. */
  async function sendAll(delayMs: (number: number) => number) {
    const numberById = new Map<string, number>();
    const add = ({ number, ids }: { number: number; ids: string[] }) => {
      for (const id of ids) numberById.set(id, number);
    };
    let next = 0;
    await Promise.all(
      Array.from({ length: CONCURRENT_SENDERS }, async () => {
        while (next < WEBHOOKS) {
          const number = next;
          next += 1;
          await sleep(delayMs(number));
          add(await sendOne(number));
        }
      }),
    );
    return { add, of: (id: string) => numberById.get(id) ?? Number.NaN };
  }
}, 300_000);

/** Starts a hub that can be killed and restarted, with the same port and the same data. */
async function startRestartableHub() {
  const data = tempFolder();
  const port = await fixedPort();
  const start = () =>
    startHubProcess({
      data,
      env: { GITHUB_WEBHOOK_SECRET: SECRET, SIGNALBOX_TOKEN: TOKEN, PORT: port },
    });
  let running: Promise<HubProcess> = start();
  const { url } = await running;
  onTestFinished(async () => void (await (await running).stop()));
  return {
    url,
    ready: () => running,
    async killAndRestart() {
      running = running.then(async (hub) => {
        await hub.stop("SIGKILL");
        return start();
      });
      await running;
    },
  };
}

/** Starts a bridge. After its end, another bridge starts with the same state file. */
function startRestartableBridge(url: string) {
  const state = tempFolder();
  const start = () =>
    startBridgeProcess({
      WEBHOOK_WORKER_URL: url,
      SIGNALBOX_TOKEN: TOKEN,
      SIGNALBOX_BRIDGE_STATE: state,
      // Reminders would repeat announced events.
      SIGNALBOX_BRIDGE_REMIND_MINUTES: "0",
    });
  const processes: BridgeProcess[] = [start()];
  let ending: Promise<void> = Promise.resolve();
  onTestFinished(async () => {
    await ending;
    await processes.at(-1)?.end("SIGKILL");
  });
  return {
    processes,
    last: () => processes.flatMap(({ messages }) => messages).at(-1),
    cursor(): unknown {
      const [file] = readdirSync(state).filter((name) => name.endsWith(".json"));
      return file && JSON.parse(readFileSync(join(state, file), "utf8")).cursor;
    },
    ready: () => ending,
    end(how: Ending) {
      ending = ending.then(async () => {
        await processes.at(-1)?.end(how);
        processes.push(start());
      });
      return ending;
    },
  };
}

/**
 * A message announces one event, or, as a digest, the last `count` events up to the one that it names.
 * Together, the messages announce every event in order. A bridge that was killed with SIGKILL may have
 * sent a message without saving its cursor. Only then, the next bridge may repeat that message first.
 */
function expectAnnouncedInOrder(
  processes: readonly BridgeProcess[],
  positionOf: (id: string) => number,
): void {
  let first = -1;
  let last = -1;
  let wasKilled = false;
  for (const { messages, endedBy } of processes) {
    for (const [index, { meta }] of messages.entries()) {
      const to = positionOf(meta.message_id ?? "");
      const from = to - Number(meta.count ?? 1) + 1;
      const isRepeated = wasKilled && index === 0 && from === first;
      expect(from, `after ${first}-${last}`).toBe(isRepeated ? first : last + 1);
      expect(to).toBeGreaterThanOrEqual(last);
      [first, last] = [from, to];
      wasKilled = endedBy === "SIGKILL";
    }
  }
  expect(last).toBe(WEBHOOKS);
}

/** Returns the ids of all events, in the order of the log. */
async function readLog(url: string): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | null = ""; cursor !== null; ) {
    const query: string = cursor && `&cursor=${cursor}`;
    const page = await fetch(`${url}/pending-events?order=oldest&limit=100${query}`, {
      headers: bearer,
    });
    ids.push(...((await page.json()) as { id: string }[]).map(({ id }) => id));
    cursor = page.headers.get("x-next-cursor");
  }
  return ids;
}

const numbersUpTo = (last: number) => Array.from({ length: last + 1 }, (_, number) => number);

const randomSeed = () => Math.floor(Math.random() * 2 ** 32);

/** Creates a generator of pseudorandom numbers: Mulberry32. */
function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

function shuffle<Item>(items: readonly Item[], random: () => number): Item[] {
  return items
    .map((item) => ({ item, rank: random() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}
