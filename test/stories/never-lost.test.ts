/**
 * The promise: what a sender got a 2xx for reaches every client once and in order, whoever is killed
 * meanwhile. Clients are cut off, the bridge and the hub are killed, at moments drawn from a seed.
 */
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, onTestFailed, onTestFinished } from "vitest";
import { type BridgeProcess, type Ending, startBridgeProcess } from "../support/bridge-process.ts";
import { deliver, issueOpened, SECRET } from "../support/deliver.ts";
import { type HubProcess, startHubProcess } from "../support/hub-process.ts";
import {
  createResumingClient,
  type Open,
  overMcp,
  overSse,
  overWebSocket,
} from "../support/resuming-client.ts";
import { tempFolder } from "../support/temp-folder.ts";

const TOKEN = "sbx_of_the_story_of_what_is_never_lost";
const bearer = { authorization: `Bearer ${TOKEN}` };

const DELIVERIES = 1_000;
/** How many are under way at once. */
const SENDERS = 4;
const CUTS = 12;
const BRIDGE_ENDS: Ending[] = ["SIGKILL", "SIGKILL", "SIGKILL", "SIGTERM", "hang up", "hang up"];
const HUB_KILLS = 2;

it("a thousand deliveries reach every client once and in order, whoever is killed meanwhile", async () => {
  const seed = Number(process.env.STORY_SEED ?? randomSeed());
  onTestFailed(() => console.error(`To repeat these moments: STORY_SEED=${seed}`));
  const random = createRandom(seed);
  const hub = await startLastingHub();

  const clients = Object.entries<Open>({
    sse: overSse(hub.url, bearer),
    webSocket: overWebSocket(hub.url, bearer),
    mcp: overMcp(hub.url, bearer, "github.issues"),
  }).map(([name, open]) => {
    const client = createResumingClient(open);
    onTestFinished(client.stop);
    return { name, ...client };
  });
  const bridge = startLastingBridge(hub.url);

  // The first cut comes before the first event: all they have is where they began.
  for (const { cursor } of clients) await expect.poll(cursor).toMatch(/^0(@|$)/);
  await expect.poll(bridge.place).toBe("0");
  for (const client of clients) client.cut();
  const ends = shuffle(BRIDGE_ENDS, random);
  void bridge.end(ends[0] ?? "SIGKILL");

  const moments: { at: number; happen(): void }[] = [];
  const plan = (times: number, happen: (time: number) => void) => {
    for (let time = 0; time < times; time += 1)
      moments.push({ at: Math.floor(random() * DELIVERIES), happen: () => happen(time) });
  };
  for (const client of clients) plan(CUTS, client.cut);
  plan(ends.length - 1, (time) => void bridge.end(ends[time + 1] ?? "SIGKILL"));
  plan(HUB_KILLS, () => void hub.killAndRestart());

  const numbers = await sendAll((number) => {
    for (const { at, happen } of moments) if (at === number) happen();
    return random() * 60;
  });

  // Had somebody seen an event twice, it would have been before this one.
  await hub.ready();
  await bridge.ready();
  numbers.take(await sendOne(DELIVERIES));
  const log = (await readLog(hub.url)).map(numbers.of);
  expect(log.toSorted((a, b) => a - b)).toEqual(upTo(DELIVERIES));
  for (const { name, seen } of clients) {
    await expect
      .poll(() => seen().map(numbers.of).at(-1), { timeout: 60_000, message: name })
      .toBe(DELIVERIES);
    expect(seen().map(numbers.of), name).toEqual(log);
  }
  const places = new Map(log.map((number, place) => [number, place]));
  const placeOf = (id: string) => places.get(numbers.of(id)) ?? Number.NaN;
  await expect.poll(() => placeOf(bridge.last()?.meta.message_id ?? "")).toBe(DELIVERIES);
  expectToldInOrder(bridge.lives, placeOf);

  async function sendOne(number: number): Promise<{ number: number; names: string[] }> {
    const guid = randomUUID();
    const issue = { ...issueOpened.issue, title: `number ${number}` };
    const body = JSON.stringify({ ...issueOpened, issue });
    for (;;) {
      const response = await deliver(hub.url, { id: guid, body }).catch(() => undefined);
      // Whatever is not acknowledged is sent again, under the same id, as GitHub's users do.
      const answer = response?.ok
        ? await (response.json() as Promise<{ id: string }>).catch(() => undefined)
        : undefined;
      if (answer) return { number, names: [guid, answer.id] };
      if (response && response.status < 500 && !response.ok)
        throw new Error(`refused: ${response.status} ${await response.text()}`);
      await sleep(20);
    }
  }

  async function sendAll(beforeEach: (number: number) => number) {
    const known = new Map<string, number>();
    const take = ({ number, names }: { number: number; names: string[] }) => {
      for (const name of names) known.set(name, number);
    };
    let next = 0;
    await Promise.all(
      Array.from({ length: SENDERS }, async () => {
        while (next < DELIVERIES) {
          const number = next;
          next += 1;
          await sleep(beforeEach(number));
          take(await sendOne(number));
        }
      }),
    );
    return { take, of: (name: string) => known.get(name) ?? Number.NaN };
  }
}, 120_000);

/** A hub that is always at the same address, with the same data. */
async function startLastingHub() {
  const data = tempFolder();
  // Not one of those that the system hands out: while the hub is down, nobody else shall get it.
  const port = String(20_000 + Math.floor(Math.random() * 10_000));
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

/** A bridge that is started again whenever it ends, with the memory that the last one left. */
function startLastingBridge(url: string) {
  const state = tempFolder();
  const start = () =>
    startBridgeProcess({
      WEBHOOK_WORKER_URL: url,
      SIGNALBOX_TOKEN: TOKEN,
      SIGNALBOX_BRIDGE_STATE: state,
      // What is announced and not processed would be named again.
      SIGNALBOX_BRIDGE_REMIND_MINUTES: "0",
    });
  const lives: BridgeProcess[] = [start()];
  let ending: Promise<void> = Promise.resolve();
  onTestFinished(async () => {
    await ending;
    await lives.at(-1)?.end("SIGKILL");
  });
  return {
    lives,
    last: () => lives.flatMap(({ messages }) => messages).at(-1),
    place(): unknown {
      const [file] = readdirSync(state).filter((name) => name.endsWith(".json"));
      return file && JSON.parse(readFileSync(join(state, file), "utf8")).cursor;
    },
    ready: () => ending,
    end(how: Ending) {
      ending = ending.then(async () => {
        await lives.at(-1)?.end(how);
        lives.push(start());
      });
      return ending;
    },
  };
}

/**
 * A message tells of one event, or, as a digest, of as many as it counts, up to the one it names.
 * One after the other they tell of everything. Only a bridge that was killed outright may have said
 * its last message without remembering it; then the next one begins with the same event again.
 */
function expectToldInOrder(lives: readonly BridgeProcess[], placeOf: (id: string) => number): void {
  let first = -1;
  let last = -1;
  let forgetful = false;
  for (const { messages, endedBy } of lives) {
    for (const [at, { meta }] of messages.entries()) {
      const to = placeOf(meta.message_id ?? "");
      const from = to - Number(meta.count ?? 1) + 1;
      const again = forgetful && at === 0 && from === first;
      expect(from, `after ${first}-${last}`).toBe(again ? first : last + 1);
      expect(to).toBeGreaterThanOrEqual(last);
      [first, last] = [from, to];
      forgetful = endedBy === "SIGKILL";
    }
  }
  expect(last).toBe(DELIVERIES);
}

/** The ids of all events, in the order of the log. */
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

const upTo = (last: number) => Array.from({ length: last + 1 }, (_, number) => number);

const randomSeed = () => Math.floor(Math.random() * 2 ** 32);

/** Mulberry32: small, and the same numbers for the same seed. */
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
    .map((item) => ({ item, at: random() }))
    .sort((a, b) => a.at - b.at)
    .map(({ item }) => item);
}
