/** How one runner executes flows from the trigger to the end. */

import type { LogLine } from "@signalbox/rules/flows/evaluation.ts";
import { expect } from "vitest";
import { allSteps } from "../../store/contract/run-sample.ts";
import type { It } from "../contract.ts";
import { edges, gate, node, probe, start, TENANT, withSavedSteps } from "./fixture.ts";

export function executionContract(it: It): void {
  it("executes from its trigger to its result and records every step in order", async (f) => {
    const make = await f.publish(
      [
        start,
        probe("a", { value: "{{ trigger.x }}" }),
        probe("b", { value: "{{ a }}!" }),
        node("end", "Return", { value: { got: "{{ b }}" } }),
      ],
      edges("start > a > b > end"),
    );
    const saved: string[] = [];
    const store = withSavedSteps(f.store, ({ node_id, status }) =>
      saved.push(`${node_id} ${status}`),
    );
    const { id, ended } = await f.openRunner({ store }).start(make({ input: { x: "hello" } }));
    expect(await ended).toMatchObject({ status: "succeeded", output: { got: "hello!" } });
    expect(await f.steps(id)).toEqual(["start done", "a done", "b done", "end done"]);
    expect(saved).toEqual([
      "start done",
      ...["a", "b", "end"].flatMap((name) => [`${name} running`, `${name} done`]),
    ]);
    const [, a] = await allSteps(f.store, TENANT, id);
    expect(a).toMatchObject({ port: "out", input: { value: "hello" }, output: "hello" });
  });

  it("fails if it was called from a trigger that is not connected to any nodes", async (f) => {
    const make = await f.publish([start, probe("apart")], []);
    const { id, ended } = await f.openRunner().start(make());
    const { status, output, error } = await ended;
    expect({ status, output, error }).toEqual({
      status: "failed",
      output: null,
      error: {
        code: "trigger_leads_nowhere",
        message: expect.stringMatching(
          /^The tool t is not connected to any nodes, .* from "start" to .* publish the flow/,
        ),
        node_id: "start",
      },
    });
    expect(await f.steps(id)).toEqual(["start done"]);
  });

  it("records the console output of code with its step, even if the code fails", async (f) => {
    const make = await f.publish(
      [start, node("a", "Code", { code: "good" }), node("b", "Code", { code: "bad" })],
      edges("start > a > b"),
    );
    const log = (text: string): LogLine[] => [{ level: "warn", text }];
    const { id, ended } = await f
      .openRunner({}, async (evaluation, { tenant }) =>
        "code" in evaluation && evaluation.code === "good"
          ? { log: log(`of ${tenant}`), output: 1 }
          : { log: log("oh dear"), error: "code_failed", message: "no luck" },
      )
      .start(make());
    expect(await ended).toMatchObject({ status: "failed", error: { code: "code_failed" } });
    expect(await allSteps(f.store, TENANT, id)).toMatchObject([
      { node_id: "start", log: [] },
      { node_id: "a", status: "done", log: log(`of ${TENANT}`) },
      { node_id: "b", status: "failed", log: log("oh dear") },
    ]);
  });

  it("runs branches in parallel, skips branches that are not followed, and merges the rest", async (f) => {
    const make = await f.publish(
      [
        start,
        node("fork", "Condition", {
          conditions: [{ left: "{{ trigger.x }}", op: "gt", right: 5 }],
        }),
        gate("yes", { value: 1 }),
        probe("no"),
        gate("side", { value: 3 }),
        node("meet", "Merge"),
        node("end", "Return"),
      ],
      edges(
        "start > fork.true > yes > meet",
        "fork.false > no > meet",
        "start > side > meet > end",
      ),
    );
    const { id, ended } = await f.openRunner().start(make({ input: { x: 7 } }));
    // Both branches start before one of them ends.
    await expect.poll(() => f.calls.toSorted()).toEqual(["side begins", "yes begins"]);
    f.open("side");
    f.open("yes");
    expect((await ended).output).toEqual({ yes: 1, side: 3 });
    expect((await f.steps(id)).toSorted()).toEqual(
      [
        "end done",
        "fork done",
        "meet done",
        "no skipped",
        "side done",
        "start done",
        "yes done",
      ].toSorted(),
    );
  });

  it("retries a step with the same key, and fails with the node's message after the last attempt", async (f) => {
    const retries = { attempts: 3, backoffMs: 1 };
    const make = await f.publish(
      [start, probe("a", { fail: 2, settings: { retries } }), probe("b", { fail: 9 })],
      edges("start > a > b"),
    );
    const { id, ended } = await f.openRunner().start(make());
    const error = { message: "no luck", code: "failed", node_id: "b" };
    expect(await ended).toMatchObject({ status: "failed", error });
    expect(f.calls).toEqual(["a a 1", "a a 2", "a a 3", "b b 1"]);
    expect(await f.steps(id)).toEqual([
      "start done",
      "a failed",
      "a#2 failed",
      "a#3 done",
      "b failed",
    ]);
  });

  it("continues on the error branch, or with continueOnError, with the error as output", async (f) => {
    const make = await f.publish(
      [
        start,
        probe("a", { fail: 9 }),
        probe("fine"),
        probe("rescue", { value: "{{ a.error.message }}" }),
        probe("b", { fail: 9, settings: { continueOnError: true } }),
        node("end", "Return", { value: ["{{ rescue }}", "{{ b.error.code }}"] }),
      ],
      edges("start > a > fine", "a.error > rescue > b > end"),
    );
    const { id, ended } = await f.openRunner().start(make());
    expect(await ended).toMatchObject({ status: "succeeded", output: ["no luck", "failed"] });
    expect(await f.steps(id)).toContain("fine skipped");
  });

  it("runs a loop once per item, with limited concurrency, and continues with the results in order", async (f) => {
    const make = await f.publish(
      [
        start,
        node("each", "ForEach", { items: "{{ trigger.list }}", atOnce: 2 }),
        probe("a", { value: "{{ item }}-{{ index }}" }),
        node("inner", "ForEach", { items: ["p", "q"] }),
        probe("b", { value: "{{ a }}{{ item }}" }),
        node("end", "Return", { value: "{{ each }}" }),
      ],
      edges("start > each.item > a > inner.item > b", "each.done > end"),
    );
    const { ended } = await f.openRunner().start(make({ input: { list: ["x", "y", "z"] } }));
    const rounds = (at: number, name: string) => ["p", "q"].map((last) => `${name}-${at}${last}`);
    expect(await ended).toMatchObject({
      status: "succeeded",
      output: ["x", "y", "z"].map((name, at) => rounds(at, name)),
    });
    expect(f.calls).toContain("b b:each:2/inner:1 1");
    expect(new Set(f.calls).size).toBe(9);
  });

  it("fails a loop if one iteration fails, and aborts the other iterations", async (f) => {
    const make = await f.publish(
      [
        start,
        node("each", "ForEach", { items: [0, 1, 2, 3, 4], atOnce: 2 }),
        node("fork", "Condition", { conditions: [{ left: "{{ index }}", op: "eq", right: 1 }] }),
        probe("bad", { fail: 9 }),
        gate("slow"),
        node("end", "Return", { value: "{{ each.error.message }}" }),
      ],
      edges("start > each.item > fork.true > bad", "fork.false > slow", "each.error > end"),
    );
    const { id, ended } = await f.openRunner().start(make());
    expect(await ended).toMatchObject({ status: "succeeded", output: "no luck" });
    expect(f.calls.toSorted()).toEqual(["bad bad:each:1 1", "slow aborted", "slow begins"]);
    // Aborted steps are recorded as failed, not as running.
    const aborted = (await allSteps(f.store, TENANT, id)).find(({ node_id }) => node_id === "slow");
    expect(aborted).toMatchObject({ status: "failed", error: { code: "stopped" } });
  });

  it("with continueOnError uses the error as the result of a failed iteration", async (f) => {
    const make = await f.publish(
      [
        start,
        node("each", "ForEach", { items: [1, 2], settings: { continueOnError: true } }),
        node("fork", "Condition", { conditions: [{ left: "{{ item }}", op: "eq", right: 1 }] }),
        probe("bad", { fail: 9 }),
        gate("beside"),
        gate("good", { value: "{{ item }}" }),
        node("end", "Return", { value: "{{ each }}" }),
      ],
      edges(
        "start > each.item > fork.true > bad",
        "fork.true > beside",
        "fork.false > good",
        "each.done > end",
      ),
    );
    const { id, ended } = await f.openRunner().start(make());
    // The other nodes of the failed iteration are aborted when it fails.
    const called = ["bad bad:each:0 1", "beside aborted", "beside begins", "good begins"];
    await expect.poll(() => f.calls.toSorted()).toEqual(called);
    f.open("good");
    const output = [{ error: { code: "failed", message: "no luck" } }, 2];
    expect(await ended).toMatchObject({ status: "succeeded", output });
    expect(await f.steps(id)).toContain("bad@each:0 failed");
  });

  it("aborts the other branches if one fails", async (f) => {
    const make = await f.publish(
      [start, gate("slow"), gate("a"), probe("bad", { fail: 9 }), probe("after")],
      edges("start > slow > after", "start > a > bad"),
    );
    const { id, ended } = await f.openRunner().start(make());
    await expect.poll(() => f.calls.length).toBe(2);
    f.open("a");
    expect(await ended).toMatchObject({ status: "failed", error: { node_id: "bad" } });
    expect(f.calls).toContain("slow aborted");
    f.open("slow");
    expect((await f.steps(id)).toSorted()).toEqual([
      "a done",
      "bad failed",
      "slow failed",
      "start done",
    ]);
  });

  it("records the steps that other branches have completed if one branch fails", async (f) => {
    const make = await f.publish(
      [start, probe("a", { value: 1 }), probe("bad", { fail: 9 })],
      edges("start > a", "start > bad"),
    );
    const { id, ended } = await f.openRunner().start(make());
    expect((await ended).status).toBe("failed");
    expect(await f.steps(id)).toEqual(["start done", "a done", "bad failed"]);
  });

  it("returns the value of the Return node, or the outputs of the last nodes if it has none", async (f) => {
    const two = await f.publish(
      [
        start,
        node("fork", "Condition", {
          conditions: [{ left: "{{ trigger.x }}", op: "eq", right: 1 }],
        }),
        node("yes", "Return", { value: "one" }),
        node("no", "Return", { value: "other" }),
      ],
      edges("start > fork.true > yes", "fork.false > no"),
    );
    const none = await f.publish(
      [start, probe("a", { value: 1 }), probe("b", { value: 2 })],
      edges("start > a", "start > b"),
    );
    const runner = f.openRunner();
    const outputOf = async (run: Parameters<typeof runner.start>[0]) =>
      (await (await runner.start(run)).ended).output;
    expect(await outputOf(two({ input: { x: 1 } }))).toBe("one");
    expect(await outputOf(two({ input: { x: 2 } }))).toBe("other");
    expect(await outputOf(none())).toEqual({ a: 1, b: 2 });
  });

  it("fails if a step or the whole run exceeds its time limit", async (f) => {
    const slow = await f.publish(
      [start, gate("a", { settings: { timeoutMs: 20 } })],
      edges("start > a"),
    );
    const { ended } = await f.openRunner().start(slow());
    const message =
      "The step exceeds the time limit of 20 ms. Raise timeoutMs in the settings of its node.";
    const error = { code: "timeout", message, node_id: "a" };
    expect(await ended).toMatchObject({ status: "failed", error });
    const limited = { ...start, parameters: { ...start.parameters, settings: { timeoutMs: 500 } } };
    const all = await f.publish([limited, gate("b")], edges("start > b"));
    const second = await f.openRunner().start(all());
    expect(await second.ended).toMatchObject({
      status: "failed",
      error: {
        code: "run_timeout",
        message:
          "The run exceeds the time limit of 500 ms. Raise timeoutMs in the settings of its trigger.",
      },
    });
    expect(f.calls).toContain("b aborted");
    expect(await f.steps(second.id)).toEqual(["start done", "b failed"]);
  });

  it("fails with a message if its flow cannot be executed", async (f) => {
    const unknown = await f.publish([start, node("a", "Teleport")], edges("start > a"));
    const runner = f.openRunner();
    const errorOf = async (run: Parameters<typeof runner.start>[0]) =>
      (await (await runner.start(run)).ended).error;
    expect(await errorOf(unknown())).toMatchObject({
      code: "unknown_node_type",
      message: "There is no node type Teleport.",
    });
    expect(await errorOf(unknown({ trigger_node: "gone" }))).toMatchObject({ code: "no_trigger" });
    expect(await errorOf(unknown({ event_id: "swept" }))).toEqual({
      code: "no_input",
      message: "The event that started the run has been removed by retention.",
    });
  });

  /** Publishes a flow that waits for a minute; returns the config of a node that calls it. */
  const publishWaiting = async (f: Parameters<Parameters<It>[1]>[0]) => {
    const trigger = { ...start, parameters: { parameters: [{ name: "n", type: "number" }] } };
    const rest = node("rest", "Wait", { seconds: 60 });
    const end = node("end", "Return", { value: "{{ trigger.n }}" });
    const make = await f.publish([trigger, rest, end], edges("start > rest > end"));
    return { flow: make().flow_id, trigger: "start", input: { n: 7 } };
  };

  it("calls the only active tool of a flow if the node names no trigger", async (f) => {
    const end = node("end", "Return", { value: "called" });
    const called = await f.publish([start, end], edges("start > end"));
    const call = node("call", "CallFlow", { flow: called().flow_id });
    const make = await f.publish([start, call], edges("start > call"));
    const { ended } = await f.openRunner().start(make());
    expect(await ended).toMatchObject({ status: "succeeded", output: "called" });
  });

  it("releases its slot while the flow that it called is suspended", async (f) => {
    const call = await publishWaiting(f);
    const calling = await f.publish([start, node("call", "CallFlow", call)], edges("start > call"));
    const outer = { flow: calling().flow_id, trigger: "start" };
    // The run of the middle flow is started by its caller, not claimed.
    const make = await f.publish([start, node("call", "CallFlow", outer)], edges("start > call"));
    const other = await f.publish([start, probe("a")], edges("start > a"));
    let ahead = 0;
    const now = () => Date.now() + ahead;
    const runner = f.openRunner({ concurrency: 1, suspendAfterMs: 0, leaseMs: 600_000, now });
    const run = make();
    const another = other({ due_at: run.due_at + 1 });
    await runner.queue([run, another]);
    const suspended = async () =>
      (await f.store.listRuns({ tenant: TENANT, limit: 9, status: "waiting" }))[0]?.id ?? "";
    await expect.poll(suspended).not.toBe("");
    await expect.poll(() => f.status(another.id)).toBe("succeeded");
    ahead = 120_000;
    await runner.queue([other()]); // the runner claims the suspended run with it
    await expect.poll(() => f.status(run.id)).toBe("succeeded");
    expect((await f.run(run.id)).output).toBe(7);
  });

  it("does not apply the default step timeout to a call", async (f) => {
    const longer = { settings: { timeoutMs: 60_000 } };
    const child = await f.publish(
      [start, gate("long", { value: 1, ...longer })],
      edges("start > long"),
    );
    const call = { flow: child().flow_id, trigger: "start" };
    const make = await f.publish(
      [
        start,
        node("call", "CallFlow", call),
        gate("short", { settings: { continueOnError: true } }),
        node("brief", "CallFlow", { ...call, settings: { timeoutMs: 20, continueOnError: true } }),
      ],
      edges("start > call", "start > short", "start > brief"),
    );
    const { id, ended } = await f.openRunner({ stepTimeoutMs: 20 }).start(make());
    const steps = () => f.steps(id);
    await expect.poll(steps).toEqual(expect.arrayContaining(["short done", "brief done"]));
    expect(await steps()).toContain("call running");
    f.open("long");
    expect((await ended).output).toMatchObject({ call: 1, brief: { error: { code: "timeout" } } });
  });

  it("retries a called flow at its failed step", async (f) => {
    const child = await f.publish(
      [start, probe("a"), probe("b", { fail: 1, value: 2 })],
      edges("start > a > b"),
    );
    const settings = { retries: { attempts: 2, backoffMs: 1 } };
    const call = { flow: child().flow_id, trigger: "start", settings };
    const make = await f.publish([start, node("call", "CallFlow", call)], edges("start > call"));
    const { id, ended } = await f.openRunner().start(make());
    expect(await ended).toMatchObject({ status: "succeeded", output: 2 });
    expect(f.calls).toEqual(["a a 1", "b b 1", "b b 2"]);
    expect(await f.steps(id)).toEqual(["start done", "call failed", "call#2 done"]);
  });

  it("cancels a called run that it no longer waits for, and continues", async (f) => {
    const child = await f.publish([start, gate("long"), probe("never")], edges("start > long"));
    const call = { flow: child().flow_id, trigger: "start" };
    const late = await f.publish(
      // Long enough for the called run to start on a busy machine.
      [start, node("call", "CallFlow", { ...call, settings: { timeoutMs: 1_000 } }), gate("on")],
      edges("start > call.error > on"),
    );
    const iteration = await f.publish(
      [
        start,
        node("each", "ForEach", { items: [1], settings: { continueOnError: true } }),
        node("call", "CallFlow", call),
        gate("first"),
        probe("bad", { fail: 9 }),
        gate("on"),
      ],
      edges("start > each.item > call", "each.item > first > bad", "each.done > on"),
    );
    const runner = f.openRunner();
    const cancelled = async () =>
      (await f.store.listRuns({ tenant: TENANT, limit: 9, status: "cancelled" })).map(
        ({ parent_run }) => parent_run,
      );
    const tooLate = await runner.start(late());
    await expect.poll(cancelled).toEqual([tooLate.id]);
    const failing = await runner.start(iteration());
    await expect.poll(() => f.calls.filter((one) => one === "long begins").length).toBe(2);
    f.open("first");
    await expect.poll(cancelled).toEqual([failing.id, tooLate.id]);
    await expect.poll(() => f.calls.filter((one) => one === "on begins").length).toBe(2);
    f.open("on");
    expect(await Promise.all([tooLate.ended, failing.ended])).toMatchObject([
      { status: "succeeded" },
      { status: "succeeded" },
    ]);
  });

  it("acquires a slot again before it continues after a call", async (f) => {
    const call = node("call", "CallFlow", await publishWaiting(f));
    const make = await f.publish([start, call, gate("on")], edges("start > call.error > on"));
    const runner = f.openRunner({ concurrency: 1, suspendAfterMs: 0 });
    const runs = [make(), make(), make()];
    await runner.queue(runs);
    const list = (status: "waiting" | "succeeded") =>
      f.store.listRuns({ tenant: TENANT, limit: 9, status });
    const count = async (status: "waiting" | "succeeded") => (await list(status)).length;
    await expect.poll(() => count("waiting")).toBe(3);
    let ended = 0;
    const unsubscribe = f.store.subscribe(({ topic }) => {
      if (topic === "run_ended") ended += 1;
    });
    for (const { id } of await list("waiting")) await f.store.cancelRun(TENANT, id, Date.now());
    await expect.poll(() => [ended, ...f.calls]).toEqual([3, "on begins"]);
    unsubscribe();
    // Gives the callers time to read their called runs.
    for (const { id } of [...runs, ...runs, ...runs]) await f.run(id);
    const other = await f.publish([start, probe("a")], edges("start > a"));
    // Runs that continue after a call get slots in order, and before queued runs.
    await runner.queue([other({ due_at: 1 })]);
    expect(f.calls).toEqual(["on begins"]);
    f.open("on");
    await expect.poll(() => count("succeeded")).toBe(4);
    expect(f.calls).toEqual(["on begins", "on begins", "on begins", "a a 1"]);
  });

  it("executes a called flow even if callers hold every slot", async (f) => {
    const call = await publishWaiting(f);
    const make = await f.publish([start, node("call", "CallFlow", call)], edges("start > call"));
    const first = f.openRunner({ concurrency: 1, suspendAfterMs: 0 });
    const run = make();
    await first.queue([run]);
    await expect
      .poll(
        async () =>
          (await f.store.listRuns({ tenant: TENANT, limit: 9, status: "waiting" })).length,
      )
      .toBe(1);
    await first.close();
    // After the restart, both the caller and the called run must be claimed.
    f.openRunner({ concurrency: 1, now: () => Date.now() + 120_000 });
    await expect.poll(() => f.status(run.id)).toBe("succeeded");
    expect((await f.run(run.id)).output).toBe(7);
    const runs = await f.store.listRuns({ tenant: TENANT, limit: 9 });
    expect(runs.map(({ parent_run, depth }) => [parent_run, depth])).toEqual([
      [run.id, 1],
      [undefined, 0],
    ]);
  });
}
