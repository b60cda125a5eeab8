import { expect, it } from "vitest";
import { createCandidates } from "./candidates.ts";

/** Creates candidates from a list, `state.listed`, that the test can change. */
function setup({ once = false, reloadMs = 60_000 } = {}) {
  const stop = new AbortController();
  const state = { listed: ["1", "2"], reads: 0 };
  const candidates = createCandidates({
    async *list() {
      state.reads += 1;
      for (const id of state.listed) yield { id };
    },
    once,
    signal: stop.signal,
    reloadMs,
  });
  const ids = candidates.ids();
  const take = async (count: number) => {
    const nextIds: (string | undefined)[] = [];
    for (let at = 0; at < count; at += 1) nextIds.push((await ids.next()).value as string);
    return nextIds;
  };
  return { ...candidates, ids, take, state, stop: () => stop.abort() };
}

it("yields the ids of the list, then the ids that were added", async () => {
  const { take, add, state, stop, ids } = setup();
  expect(await take(2)).toEqual(["1", "2"]);
  const next = take(2);
  add("3");
  add("4");
  expect(await next).toEqual(["3", "4"]);
  const end = ids.next();
  stop();
  expect(await end).toMatchObject({ done: true });
  expect(state.reads).toBe(1);
});

it("yields ids that were added while the list is read", async () => {
  const { take, add } = setup();
  expect(await take(1)).toEqual(["1"]);
  add("3");
  expect(await take(2)).toEqual(["2", "3"]);
});

it("reads the list again on `reload`, and after `reloadMs`", async () => {
  const { take, add, reload, state } = setup({ reloadMs: 20 });
  await take(2);
  state.listed = ["5"];
  add("discarded by the reload");
  reload();
  expect(await take(2)).toEqual(["5", "5"]);
  expect(state.reads).toBe(3);
});

it("reads the list again if more than 1000 events are added", async () => {
  const { take, add, state } = setup();
  await take(2);
  for (let at = 0; at <= 1_000; at += 1) add(`${at}`);
  state.listed = ["9"];
  expect(await take(1)).toEqual(["9"]);
});

it("ends after the list with `once`", async () => {
  const { take, ids } = setup({ once: true });
  expect(await take(2)).toEqual(["1", "2"]);
  expect(await ids.next()).toMatchObject({ done: true });
});

it("yields each id to only one of several consumers", async () => {
  const { ids, add } = setup();
  const results = Promise.all([ids.next(), ids.next(), ids.next(), ids.next()]);
  add("3");
  add("4");
  expect((await results).map(({ value }) => value).sort()).toEqual(["1", "2", "3", "4"]);
});
