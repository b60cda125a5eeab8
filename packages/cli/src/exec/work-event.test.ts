import { setTimeout as sleep } from "node:timers/promises";
import { expect, it, vi } from "vitest";
import { WAIT } from "../../../../test/support/timeouts.ts";
import { HubRequestFailed } from "../hub-client.ts";
import type { ExecHub } from "./exec-hub.ts";
import { createWorker, markFinished, type WorkerOptions, type WorkResult } from "./work-event.ts";

const ID = "01a1dd86-35b7-702e-a4fc-71c93a9658a0";
const taken = new HubRequestFailed("is claimed by another", 409);
const down = new HubRequestFailed("No response.");

/** Creates a worker with a hub that records its requests, and with a journal in memory. */
function setup(
  options: Partial<WorkerOptions> = {},
  { attempts = 1, ...errors }: FakeHubOptions = {},
) {
  const journal = new Map<string, string>();
  const calls: unknown[][] = [];
  const request =
    (name: Exclude<keyof FakeHubOptions, "attempts">) =>
    async (...args: unknown[]) => {
      calls.push([name, ...args.slice(1, -1)]);
      if (errors[name]) throw errors[name];
    };
  const event = { id: ID, type: "issues", source: "github", received_at: "", attempts };
  const emptyFields = {
    action: null,
    repo: null,
    sender: null,
    number: null,
    title: null,
    url: null,
  };
  const claimed = { event: { ...event, ...emptyFields }, json: "{}" };
  const markProcessed = request("markProcessed");
  const hub = {
    claim: async () => (errors.claim ? undefined : claimed),
    renew: request("renew"),
    release: request("release"),
    async markProcessed(...args) {
      calls.push(["recorded", journal.has(args[0])]);
      await markProcessed(...args);
    },
    read: async () => ({ payload: null, processed: false }),
  } satisfies Partial<ExecHub> as unknown as ExecHub;
  const finished = {
    add: ({ id, note }: { id: string; note: string }) => void journal.set(id, note),
    remove: (id: string) => void journal.delete(id),
    read: () => [...journal].map(([id, note]) => ({ id, note })),
  };
  const results: (WorkResult | undefined)[] = [];
  const stop = new AbortController();
  const terminate = new AbortController();
  const output: string[] = [];
  const work = createWorker({
    hub,
    hubUrl: () => "http://hub",
    finished,
    report: {
      warn: () => {},
      startEvent: () => ({
        writeOutput: (_, chunk) => void output.push(chunk),
        endEvent: (result) => void results.push(result),
      }),
    },
    argv: ["echo", "done"],
    env: { PATH: process.env.PATH },
    leaseS: 3_600,
    timeoutS: 0,
    maxAttempts: 3,
    backoffS: 10,
    stopping: stop.signal,
    terminating: terminate.signal,
    retryForMs: { before: () => 0, after: () => 0 },
    random: () => 1,
    ...options,
  });
  return { work, hub, finished, journal, calls, results, stop, terminate, output };
}

interface FakeHubOptions {
  attempts?: number;
  claim?: Error;
  renew?: Error;
  release?: Error;
  markProcessed?: Error;
}

it("records a finished event before it is marked, and then removes the record", async () => {
  const { work, journal, calls, results } = setup();
  expect(await work(ID)).toEqual({ kind: "processed", note: "done" });
  expect(calls).toEqual([
    ["recorded", true],
    ["markProcessed", "done", { onlyIfClaimed: false }],
  ]);
  expect(journal.size).toBe(0);
  expect(results).toEqual([{ kind: "processed", note: "done" }]);
});

it("keeps the record if the hub cannot be reached, so that the next start marks the event", async () => {
  const { work, journal, results } = setup({}, { markProcessed: down });
  await expect(work(ID)).rejects.toThrow(/finished event .* The next start .* marks it/);
  expect([...journal]).toEqual([[ID, "done"]]);
  expect(results).toEqual([undefined]);
  const next = setup();
  next.finished.add({ id: ID, note: "done" });
  const policy = { signal: new AbortController().signal, retryForMs: () => 0 };
  expect(await markFinished(next.hub, next.finished, policy)).toEqual([ID]);
  expect(next.calls.at(-1)).toEqual(["markProcessed", "done", { onlyIfClaimed: false }]);
  expect(next.journal.size).toBe(0);
});

it("works on an event only once at a time", async () => {
  const { work, calls } = setup();
  expect(await Promise.all([work(ID), work(ID)])).toEqual([
    { kind: "processed", note: "done" },
    undefined,
  ]);
  expect(calls).toHaveLength(2);
});

it("skips an event that cannot be claimed", async () => {
  const { work, calls } = setup({}, { claim: taken });
  expect(await work(ID)).toBeUndefined();
  expect(calls).toEqual([]);
});

it.each([
  [
    1,
    { kind: "retry", reason: "exit code 1", delayS: 10 },
    ["release", { delayS: 10, countAttempt: true }],
  ],
  [
    2,
    { kind: "retry", reason: "exit code 1", delayS: 20 },
    ["release", { delayS: 20, countAttempt: true }],
  ],
])(
  "releases the event after failed attempt %i, with a delay that doubles",
  async (attempts, result, call) => {
    const { work, calls } = setup({ argv: ["false"] }, { attempts });
    expect(await work(ID)).toEqual(result);
    expect(calls).toEqual([call]);
    // If the response to the first release is lost, the hub rejects the repeated release as taken.
    expect(await setup({ argv: ["false"] }, { attempts, release: taken }).work(ID)).toEqual(result);
  },
);

it("gives up after the last attempt, unless the claim was lost", async () => {
  const { work, calls } = setup({ argv: ["false"] }, { attempts: 3 });
  const note = "Gave up after 3 attempts: exit code 1";
  expect(await work(ID)).toEqual({ kind: "given up", note });
  expect(calls.at(-1)).toEqual(["markProcessed", note, { onlyIfClaimed: true }]);
  const lost = setup({ argv: ["false"] }, { attempts: 3, markProcessed: taken });
  expect(await lost.work(ID)).toMatchObject({ kind: "lost" });
});

it("does not run the command if the earlier attempts have reached the limit", async () => {
  const { work, output } = setup({}, { attempts: 4 });
  expect(await work(ID)).toMatchObject({ kind: "given up" });
  expect(output).toEqual([]);
});

it("terminates the command if the claim is lost, and sends no further request for the event", async () => {
  const { work, calls } = setup({ argv: ["sleep", "1000"], leaseS: 0.03 }, { renew: taken });
  expect(await work(ID)).toEqual({ kind: "lost", reason: "is claimed by another" });
  expect(calls).toEqual([["renew"]]);
});

it("releases an interrupted event, which does not count as an attempt", async () => {
  const script = "trap 'exit 0' TERM; echo up; while :; do sleep 0.01; done";
  const { work, calls, terminate, output } = setup({ argv: ["sh", "-c", script] });
  const working = work(ID);
  await vi.waitFor(() => expect(output).toEqual(["up\n"]), WAIT);
  terminate.abort();
  expect(await working).toEqual({ kind: "interrupted" });
  expect(calls).toEqual([["release", { delayS: 0, countAttempt: false }]]);
});

it("releases an event that was claimed while the process stopped", async () => {
  const { work, calls, stop, results } = setup();
  const working = work(ID);
  stop.abort();
  expect(await working).toEqual({ kind: "interrupted" });
  expect(calls).toEqual([["release", { delayS: 0, countAttempt: false }]]);
  await sleep(0);
  expect(results).toEqual([]);
});

it("releases the event if the command cannot be started, and throws", async () => {
  const { work, calls } = setup({ argv: ["signalbox-no-such-command"] });
  await expect(work(ID)).rejects.toThrow("Cannot start signalbox-no-such-command");
  expect(calls).toEqual([["release", { delayS: 0, countAttempt: false }]]);
});
