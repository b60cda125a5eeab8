import { expect } from "vitest";
import {
  claim,
  claimExactly,
  sampleRun,
  sampleStep,
  save,
} from "../../../flows/runs/store/contract/run-sample.ts";
import type { It } from "../../../kernel/store/contract/subject.ts";
import { allNotices } from "./all-notices.ts";
import { appendEvents, appendRequest, ids, START, sampleEvent, sampleEvents } from "./sample.ts";

export function noticesContract(it: It): void {
  it("report the tenant and the last seq of each commit", async (subject) => {
    const { store } = subject;
    await store.appendEvents(
      [
        appendRequest(sampleEvents(2)),
        appendRequest([sampleEvent()], "umbrella's 'own'"),
        appendRequest([sampleEvent()]),
      ],
      null,
    );
    await appendEvents(store, [sampleEvent()]);
    const notices = await allNotices(subject);
    const noticesOf = (tenant: string) =>
      notices.filter((notice) => notice.topic === "events" && notice.tenant === tenant);
    expect(noticesOf("acme")).toEqual([
      { topic: "events", tenant: "acme", seq: 3 },
      { topic: "events", tenant: "acme", seq: 4 },
    ]);
    expect(noticesOf("umbrella's 'own'")).toEqual([
      { topic: "events", tenant: "umbrella's 'own'", seq: 1 },
    ]);
  });

  it("report the events that were claimed, released or marked", async (subject) => {
    const { store } = subject;
    const events = sampleEvents(250);
    const all = ids(events);
    const [first = "", second = ""] = all;
    await appendEvents(store, events);
    const claim = { tenant: "acme", by: "ada", limit: 2, now: START, until: START + 60 };
    await store.claimEvents(claim);
    await store.releaseEvents("acme", [second, first], "ada");
    await store.markProcessed("acme", [first], START, null);
    await store.markProcessed("acme", all, START, null);
    const changed = (await allNotices(subject)).flatMap((notice) =>
      notice.topic === "changed" && notice.tenant === "acme" ? [[...notice.ids].sort()] : [],
    );
    expect(changed.slice(0, 3)).toEqual([[first, second].sort(), [first, second].sort(), [first]]);
    // The ids are split into chunks that fit into the notices of every backend.
    expect(changed.slice(3).map((chunk) => chunk.length)).toEqual([100, 100, 49]);
    expect(changed.slice(3).flat().sort()).toEqual(all.slice(1).sort());
  });

  it("report events whose runs are queued, start or end", async (subject) => {
    const { store } = subject;
    const [event, other] = sampleEvents(2);
    await appendEvents(store, [event, other]);
    await store.queueRuns([sampleRun({ event_id: event.id })]);
    const [claimed] = await claimExactly(store, 1);
    await save(store, [claimed]);
    const changed = (await allNotices(subject)).filter(({ topic }) => topic === "changed");
    expect(changed).toEqual(
      Array.from({ length: 3 }, () => ({ topic: "changed", tenant: "acme", ids: [event.id] })),
    );
  });

  it("report ended runs, and, after `enableStepNotices`, runs with saved steps, once per commit", async (subject) => {
    const { store } = subject;
    await store.queueRuns([sampleRun(), sampleRun()]);
    const claimed = await claim(store);
    const [first = "", second = ""] = claimed.map(({ run }) => run.id);
    const steps = [sampleStep({ status: "running" }), sampleStep({ nth: 2, node_id: "b" })];
    await store.saveProgress([{ run: first, claim: 1, steps, now: START }]);
    for (const id of [first, second]) await store.enableStepNotices("acme", id, START + 1);
    await store.enableStepNotices("umbrella", first, START + 99);
    await store.saveProgress([{ run: first, claim: 1, steps, now: START + 1 }]);
    await store.saveProgress(
      claimed.flatMap(({ run: { id, claims } }) => {
        const progress = { run: id, claim: claims, steps, now: START };
        return [progress, progress];
      }),
    );
    const waiting = { status: "waiting", due_at: START + 9 } as const;
    await store.saveProgress([{ run: first, claim: 1, steps: [], now: START, next: waiting }]);
    const ended = { status: "succeeded", output: 1 } as const;
    await store.saveProgress([{ run: second, claim: 1, steps, now: START, next: ended }]);
    const lost = { run: second, claim: 1, steps, now: START };
    expect(await store.saveProgress([lost])).toEqual(["lost"]);
    const received = (await allNotices(subject)).filter(({ topic }) => /^run_/.test(topic));
    expect(received).toEqual([
      { topic: "run_steps", runs: [first, second] },
      { topic: "run_steps", runs: [first] },
      { topic: "run_ended", tenant: "acme", run: second, status: "succeeded", took: 0 },
    ]);
  });

  it("are not sent for duplicates, rejections, errors, or calls that change nothing", async (subject) => {
    const { store } = subject;
    const event = sampleEvent({ external_id: "one" });
    await store.appendEvents([appendRequest([event])], 1);
    await store.appendEvents([appendRequest([sampleEvent({ external_id: "one" })])], 1);
    await store.appendEvents([appendRequest([sampleEvent()])], 1);
    await store
      .appendEvents([appendRequest([{ ...sampleEvent(), id: event.id }])], null)
      .catch(() => {});
    await store.markProcessed("acme", [event.id], START, null);
    await store.markProcessed("acme", [event.id], START, null);
    await store.markProcessed("umbrella", [event.id], START, null);
    await store.releaseEvents("acme", [event.id], "ada");
    await store.claimEvents({ tenant: "acme", by: "ada", limit: 1, now: START, until: START + 1 });
    await store.sweep({ now: START, processedFor: 0, pendingFor: 0, maxBytes: 0, limit: 10 });
    expect(await allNotices(subject)).toEqual([
      { topic: "events", tenant: "acme", seq: 1 },
      { topic: "changed", tenant: "acme", ids: [event.id] },
    ]);
  });
}
