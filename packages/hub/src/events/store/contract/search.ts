import { expect } from "vitest";
import { sampleRuns } from "../../../flows/runs/store/contract/run-sample.ts";
import type { It } from "../../../kernel/store/contract/subject.ts";
import type { Store } from "../../../store.ts";
import type { NewEvent, SearchQuery } from "../../model.ts";
import {
  appendEvents,
  appendInChunks,
  ids,
  itemAt,
  readPages,
  SECOND,
  START,
  sampleEvent,
  sampleEvents,
} from "./sample.ts";

const search = async (store: Store, query: Partial<SearchQuery>) =>
  (
    await readPages((cursor) =>
      store.searchEvents({ tenant: "acme", limit: 100, cursor, ...query }),
    )
  ).items;

const blank: Partial<NewEvent> = {
  type: "-",
  action: null,
  repo: null,
  sender: null,
  number: null,
  title: null,
  url: null,
  external_id: null,
};

const LONG_LOG_LENGTH = 6_000;
/** Returns events with ten seconds between them. Those at the indexes `needles` have the title "needle". */
const longLog = (needles: number[]) =>
  sampleEvents(LONG_LOG_LENGTH, (index) => ({
    received_at: START + index * 10 * SECOND,
    title: needles.includes(index) ? "needle" : "hay",
  }));

export function searchContract(it: It): void {
  it("finds text in the type, the delivery id and every summary field, ignoring case", async ({
    store,
  }) => {
    const events = (
      ["type", "action", "repo", "sender", "title", "url", "external_id"] as const
    ).map((field) => sampleEvent({ ...blank, [field]: `before Needle${field} after` }));
    await appendEvents(store, events);
    expect(await search(store, { text: "NEEDLE" })).toHaveLength(7);
    for (const text of ["needletitle", "NEEDLETITLE", "e needleTitle a"])
      expect(ids(await search(store, { text }))).toEqual([itemAt(events, 4).id]);
    expect(await search(store, { text: "needle title" })).toEqual([]);
    expect(await search(store, { text: "" })).toHaveLength(7);
  });

  it("finds the conclusion, the branch and the commit of a check, but not the names of the fields", async ({
    store,
  }) => {
    const check_result = {
      conclusion: "failure",
      head_branch: "fix/Ölstand",
      head_sha: "5779607b",
    };
    const event = sampleEvent({ ...blank, check_result });
    await appendEvents(store, [event, sampleEvent(blank)]);
    for (const text of ["Failure", "fix/ölstand", "5779"])
      expect(ids(await search(store, { text }))).toEqual([event.id]);
    expect(await search(store, { text: "conclusion" })).toEqual([]);
  });

  it("ignores the case of non-ASCII characters", async ({ store }) => {
    const events = ["Ärger mit ÖL", "ärger mit öl", "ЖУРНАЛ", "ordinary"].map((title) =>
      sampleEvent({ ...blank, title }),
    );
    await appendEvents(store, events);
    for (const text of ["Ärger", "ÄRGER", "ärger mit öl", "MIT ÖL"])
      expect(ids(await search(store, { text }))).toEqual(
        ids([itemAt(events, 1), itemAt(events, 0)]),
      );
    for (const text of ["журнал", "ЖУРНАЛ", "Журн"])
      expect(ids(await search(store, { text }))).toEqual([itemAt(events, 2).id]);
    expect(await search(store, { text: "Üärger" })).toEqual([]);
  });

  it("finds all non-ASCII matches if most of the candidates do not match", async ({ store }) => {
    const events = sampleEvents(30, (index) => ({
      ...blank,
      title: index % 10 === 0 ? "für" : "fr",
    }));
    await appendEvents(store, events);
    expect(ids(await search(store, { text: "FÜR", limit: 2 }))).toEqual(
      ids([20, 10, 0].map((at) => itemAt(events, at))),
    );
  });

  it("treats %, _, \\ and quotes literally", async ({ store }) => {
    const titles = [
      "100% sure",
      "100 sure",
      "snake_case",
      "snakeXcase",
      "a\\b",
      "ab",
      "it's",
      'a "b"',
    ];
    await appendEvents(
      store,
      titles.map((title) => sampleEvent({ ...blank, title })),
    );
    const findTitles = async (text: string) =>
      (await search(store, { text })).map(({ title }) => title);
    expect(await findTitles("100%")).toEqual(["100% sure"]);
    expect(await findTitles("e_c")).toEqual(["snake_case"]);
    expect(await findTitles("a\\b")).toEqual(["a\\b"]);
    expect(await findTitles("\\")).toEqual(["a\\b"]);
    expect(await findTitles("%")).toEqual(["100% sure"]);
    expect(await findTitles("_")).toEqual(["snake_case"]);
    expect(await findTitles("t's")).toEqual(["it's"]);
    expect(await findTitles('"b"')).toEqual(['a "b"']);
  });

  it("finds a number, with or without #", async ({ store }) => {
    const [a, b, none] = [
      sampleEvent({ ...blank, number: 42 }),
      sampleEvent({ ...blank, number: 1234 }),
      sampleEvent(blank),
    ];
    await appendEvents(store, [a, b, none]);
    expect(ids(await search(store, { text: "#42" }))).toEqual([a.id]);
    expect(ids(await search(store, { text: "1234" }))).toEqual([b.id]);
    expect(await search(store, { text: "#23" })).toEqual([]);
  });

  it("accepts a long text, such as a whole title", async ({ store }) => {
    const title = `${"a fairly long title ".repeat(14)}with an end`;
    const event = sampleEvent({ title });
    await appendEvents(store, [event, sampleEvent()]);
    expect(ids(await search(store, { text: title.toUpperCase() }))).toEqual([event.id]);
    expect(await search(store, { text: `${title}x` })).toEqual([]);
  });

  it("filters by type and by `processed`, and lists the newest events first", async ({ store }) => {
    const events = sampleEvents(20, (index) => ({ type: index % 2 ? "push" : "issues" }));
    await appendEvents(store, events);
    await appendEvents(store, sampleEvents(3), "umbrella");
    await store.markProcessed("acme", ids(events.slice(0, 10)), START, null);
    const expected = (filter: (at: number) => boolean) =>
      ids(events.filter((_, index) => filter(index)).toReversed());
    for (const limit of [1, 3, 100]) {
      expect(ids(await search(store, { limit }))).toEqual(expected(() => true));
      expect(ids(await search(store, { limit, type: "push" }))).toEqual(
        expected((at) => at % 2 === 1),
      );
      expect(ids(await search(store, { limit, processed: true }))).toEqual(
        expected((at) => at < 10),
      );
      expect(
        ids(await search(store, { limit, type: "issues", processed: false, text: "lamp" })),
      ).toEqual(expected((at) => at % 2 === 0 && at >= 10));
    }
  });

  it("returns nothing for a tenant without events", async ({ store }) => {
    const none = { items: [], next: null };
    expect(await store.searchEvents({ tenant: "nobody", limit: 5 })).toEqual(none);
    expect(
      await store.searchEvents({ tenant: "nobody", limit: 5, text: "x", from: 0, to: 9 }),
    ).toEqual(none);
  });

  it("includes both ends of a time range", async ({ store }) => {
    const events = sampleEvents(10, (index) => ({ received_at: START + index }));
    await appendEvents(store, events);
    const items = await search(store, { from: START + 3, to: START + 6 });
    expect(ids(items)).toEqual(ids(events.slice(3, 7).toReversed()));
    expect(ids(await search(store, { from: START + 8 }))).toEqual(
      ids(events.slice(8).toReversed()),
    );
    expect(ids(await search(store, { to: START }))).toEqual([itemAt(events, 0).id]);
    expect(await search(store, { to: START - 1 })).toEqual([]);
    expect(await search(store, { from: START + 10 })).toEqual([]);
  });

  it("finds all events of a time range if the clocks of replicas differ", async ({ store }) => {
    // Every other event is from a replica whose clock is half a minute behind.
    const events = sampleEvents(400, (index) => ({
      received_at: START + index * SECOND - (index % 2) * 30 * SECOND,
    }));
    await appendEvents(store, events);
    for (const second of [50, 101, 150, 202, 255, 311]) {
      const from = START + second * SECOND;
      const to = from + 50 * SECOND;
      const expected = events.filter(({ received_at }) => received_at >= from && received_at <= to);
      expect(ids(await search(store, { from, to, limit: 7 }))).toEqual(ids(expected.toReversed()));
    }
  });

  it("finds each event by its time if the events are hours apart", async ({ store }) => {
    const events = sampleEvents(20, (index) => ({ received_at: START + index * 3_600 * SECOND }));
    await appendEvents(store, events);
    for (const { id, received_at } of events) {
      const items = await search(store, { from: received_at, to: received_at });
      expect(ids(items)).toEqual([id]);
    }
  });

  it("finds all events of a long log, and scans a bounded part per page", async ({ store }) => {
    const events = longLog([0, 1, 2_500, 5_999]);
    await appendInChunks(store, events);
    const first = await store.searchEvents({ tenant: "acme", limit: 10, text: "needle" });
    expect(ids(first.items)).toEqual(ids([itemAt(events, 5_999), itemAt(events, 2_500)]));
    expect(first.next).not.toBeNull();
    for (const limit of [1, 2, 10])
      expect(ids(await search(store, { text: "needle", limit }))).toEqual(
        ids([5_999, 2_500, 1, 0].map((at) => itemAt(events, at))),
      );
    expect(await search(store, { text: "no such thing" })).toEqual([]);
  });

  it("reads only the time range of a long log", async ({ store }) => {
    const events = longLog([10]);
    await appendInChunks(store, events);
    const timeOf = (index: number) => START + index * 10 * SECOND;
    // The range is too far from the end for the scan of one page. Only the binary search finds it.
    const early = { tenant: "acme", limit: 100, from: timeOf(100), to: timeOf(120) };
    expect(await store.searchEvents(early)).toMatchObject({
      items: events
        .slice(100, 121)
        .toReversed()
        .map(({ id }) => ({ id })),
      next: null,
    });
    for (const [from, to] of [
      [0, 30],
      [2_990, 3_010],
      [5_980, 5_999],
    ] as const)
      expect(ids(await search(store, { from: timeOf(from), to: timeOf(to), limit: 9 }))).toEqual(
        ids(events.slice(from, to + 1).toReversed()),
      );
    // The text occurs only before the range, so there is no next page.
    const late = { tenant: "acme", limit: 10, text: "needle", from: timeOf(5_900) };
    expect(await store.searchEvents(late)).toEqual({ items: [], next: null });
  });

  it("combines text with filters for origin, repository, run status and processed events", async ({
    store,
  }) => {
    const events = sampleEvents(6, (index) => ({
      title: index === 5 ? "hay" : "needle",
      source: index < 3 ? "github" : "stripe",
      source_id: index < 3 ? "github" : "endpoint-1",
      repo: index === 0 ? "acme/other" : "acme/web",
    }));
    await appendEvents(store, events);
    await store.queueRuns(sampleRuns(1, () => ({ event_id: itemAt(events, 1).id })));
    await store.markProcessed("acme", [itemAt(events, 2).id, itemAt(events, 4).id], START, null);
    const findIds = async (query: Partial<SearchQuery>) =>
      ids(await search(store, { text: "needle", ...query }));
    const idsAt = (...indexes: number[]) => ids(indexes.map((index) => itemAt(events, index)));
    expect(await findIds({ origin: "github" })).toEqual(idsAt(2, 1, 0));
    expect(await findIds({ origin: "endpoint-1" })).toEqual(idsAt(4, 3));
    expect(await findIds({ repo: "acme/web", origin: "github" })).toEqual(idsAt(2, 1));
    expect(await findIds({ status: "pending" })).toEqual(idsAt(1));
    expect(await findIds({ status: null, processed: false })).toEqual(idsAt(3, 0));
    expect(await findIds({ status: "failed" })).toEqual([]);
    expect(await findIds({ processed: true, limit: 1 })).toEqual(idsAt(4, 2));
  });

  it("counts the events that were received between times", async ({ store }) => {
    const receivedSeconds = [0, 0, 5, 10, 10, 10, 29, 30];
    await appendEvents(
      store,
      sampleEvents(receivedSeconds.length, (index) => ({
        received_at: START + itemAt(receivedSeconds, index) * SECOND,
      })),
    );
    const times = (...seconds: number[]) => seconds.map((second) => START + second * SECOND);
    expect(await store.countReceived("acme", times(0, 10, 20, 30))).toEqual([3, 3, 1]);
    expect(await store.countReceived("acme", times(-9, 0, 1, 5, 6, 31, 40))).toEqual([
      0, 2, 0, 1, 5, 0,
    ]);
    expect(await store.countReceived("acme", times(50, 60))).toEqual([0]);
    expect(await store.countReceived("nobody", times(0, 10, 20))).toEqual([0, 0]);
    // Events that retention has removed are not counted in later periods.
    const old = ids((await search(store, {})).slice(-3));
    await store.markProcessed("acme", old, START, null);
    const retention = { processedFor: 0, pendingFor: 1e12, maxBytes: 1e9, limit: 10 };
    await store.sweep({ now: START + 1, ...retention });
    expect(await store.countReceived("acme", times(8, 20, 40))).toEqual([3, 2]);
  });

  it("counts the sources and types of the newest events", async ({ store }) => {
    const types = ["push", "issues", "push"];
    await appendEvents(
      store,
      sampleEvents(3, (index) => ({ type: itemAt(types, index) })),
    );
    await appendEvents(store, [sampleEvent()], "umbrella");
    const fields = { source: "github", source_id: "github", received_at: expect.any(Number) };
    expect(await store.listRecentTypes("acme", 10)).toEqual([
      { ...fields, type: "issues", count: 1 },
      { ...fields, type: "push", count: 2 },
    ]);
    expect(await store.listRecentTypes("acme", 1)).toEqual([{ ...fields, type: "push", count: 1 }]);
    expect(await store.listRecentTypes("nobody", 10)).toEqual([]);
  });

  it("finds a time range in a log from which retention removed events", async ({ store }) => {
    const events = sampleEvents(300, (index) => ({ received_at: START + index * 60 * SECOND }));
    await appendEvents(store, events);
    const removedIds = ids(events.filter((_, index) => index < 50 || index % 3 === 0));
    for (let start = 0; start < removedIds.length; start += 100)
      await store.markProcessed("acme", removedIds.slice(start, start + 100), START, null);
    await store.sweep({
      now: START,
      processedFor: 0,
      pendingFor: 1e12,
      maxBytes: 1e9,
      limit: 1_000,
    });
    const from = START + 100 * 60 * SECOND;
    const to = START + 130 * 60 * SECOND;
    const expected = events.filter((_, index) => index >= 100 && index <= 130 && index % 3 !== 0);
    expect(ids(await search(store, { from, to, limit: 5 }))).toEqual(ids(expected.toReversed()));
  });
}
