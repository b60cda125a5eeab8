/** Tests how one runner executes flows from the trigger to the end. */
import type { LogLine } from "@signalbox/rules/flows/evaluation.ts";
import { expect } from "vitest";
import type { Store } from "../../../store.ts";
import type { It } from "../contract.ts";
import type { RunProgress, WrittenStep } from "../model.ts";
import { allSteps } from "../store/contract/run-sample.ts";
import { edges, gate, node, probe, start, TENANT, withSavedSteps } from "./fixture.ts";

export function executionContract(it: It): void {
  it("executes from its trigger to its result and records every step in order", async (fixture) => {
    const createRun = await fixture.publish(
      [
        start,
        probe("a", { value: "{{ trigger.x }}" }),
        probe("b", { value: "{{ a }}!" }),
        node("end", "Return", { value: { got: "{{ b }}" } }),
      ],
      edges("start > a > b > end"),
    );
    const saved: string[] = [];
    const store = withSavedSteps(fixture.store, ({ node_id, status }) =>
      saved.push(`${node_id} ${status}`),
    );
    const { id, ended } = await fixture
      .openRunner({ store })
      .start(createRun({ input: { x: "hello" } }));
    expect(await ended).toMatchObject({ status: "succeeded", output: { got: "hello!" } });
    expect(await fixture.steps(id)).toEqual(["start done", "a done", "b done", "end done"]);
    expect(saved).toEqual([
      "start done",
      ...["a", "b", "end"].flatMap((name) => [`${name} running`, `${name} done`]),
    ]);
    const [, a] = await allSteps(fixture.store, TENANT, id);
    expect(a).toMatchObject({ port: "out", input: { value: "hello" }, output: "hello" });
  });

  it("fails if it was called from a trigger that is not connected to any nodes", async (fixture) => {
    const createRun = await fixture.publish([start, probe("apart")], []);
    const { id, ended } = await fixture.openRunner().start(createRun());
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
    expect(await fixture.steps(id)).toEqual(["start done"]);
  });

  it("records the console output of code with its step, even if the code fails", async (fixture) => {
    const createRun = await fixture.publish(
      [start, node("a", "Code", { code: "good" }), node("b", "Code", { code: "bad" })],
      edges("start > a > b"),
    );
    const log = (text: string): LogLine[] => [{ level: "warn", text }];
    const { id, ended } = await fixture
      .openRunner({}, async (evaluation, { tenant }) =>
        "code" in evaluation && evaluation.code === "good"
          ? { log: log(`of ${tenant}`), output: 1 }
          : { log: log("oh dear"), error: "code_failed", message: "no luck" },
      )
      .start(createRun());
    expect(await ended).toMatchObject({ status: "failed", error: { code: "code_failed" } });
    expect(await allSteps(fixture.store, TENANT, id)).toMatchObject([
      { node_id: "start", log: [] },
      { node_id: "a", status: "done", log: log(`of ${TENANT}`) },
      { node_id: "b", status: "failed", log: log("oh dear") },
    ]);
  });

  it("runs branches in parallel, skips branches that are not followed, and merges the other outputs", async (fixture) => {
    const createRun = await fixture.publish(
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
    const { id, ended } = await fixture.openRunner().start(createRun({ input: { x: 7 } }));
    // Both branches start before one of them ends.
    await expect.poll(() => fixture.calls.toSorted()).toEqual(["side begins", "yes begins"]);
    fixture.open("side");
    fixture.open("yes");
    expect((await ended).output).toEqual({ yes: 1, side: 3 });
    expect((await fixture.steps(id)).toSorted()).toEqual(
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

  it("retries a step with the same key, and fails with the node's message after the last attempt", async (fixture) => {
    const retries = { attempts: 3, backoffMs: 1 };
    const createRun = await fixture.publish(
      [start, probe("a", { fail: 2, settings: { retries } }), probe("b", { fail: 9 })],
      edges("start > a > b"),
    );
    const { id, ended } = await fixture.openRunner().start(createRun());
    const error = { message: "no luck", code: "failed", node_id: "b" };
    expect(await ended).toMatchObject({ status: "failed", error });
    expect(fixture.calls).toEqual(["a a 1", "a a 2", "a a 3", "b b 1"]);
    expect(await fixture.steps(id)).toEqual([
      "start done",
      "a failed",
      "a#2 failed",
      "a#3 done",
      "b failed",
    ]);
  });

  it("continues on the error branch, or with continueOnError, with the error as output", async (fixture) => {
    const createRun = await fixture.publish(
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
    const { id, ended } = await fixture.openRunner().start(createRun());
    expect(await ended).toMatchObject({ status: "succeeded", output: ["no luck", "failed"] });
    expect(await fixture.steps(id)).toContain("fine skipped");
  });

  it("runs a loop once per item, with limited concurrency, and continues with the results in order", async (fixture) => {
    const createRun = await fixture.publish(
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
    const { ended } = await fixture
      .openRunner()
      .start(createRun({ input: { list: ["x", "y", "z"] } }));
    const outputsOf = (index: number, name: string) =>
      ["p", "q"].map((inner) => `${name}-${index}${inner}`);
    expect(await ended).toMatchObject({
      status: "succeeded",
      output: ["x", "y", "z"].map((name, index) => outputsOf(index, name)),
    });
    expect(fixture.calls).toContain("b b:each:2/inner:1 1");
    expect(new Set(fixture.calls).size).toBe(9);
  });

  it("writes the steps of a loop in parts, even if no iteration executes a node", async (fixture) => {
    const items = Array.from({ length: 300 }, (_, index) => index);
    const createRun = await fixture.publish(
      [start, node("each", "ForEach", { items }), probe("check"), probe("a"), probe("b")],
      edges("start > each.item > check.yes > a > b"),
    );
    let largestWrite = 0;
    const store: Store = {
      ...fixture.store,
      async saveProgress(batch) {
        largestWrite = Math.max(largestWrite, ...batch.map(({ steps }) => steps.length));
        return fixture.store.saveProgress(batch);
      },
    };
    const run = createRun();
    const pin: WrittenStep = {
      nth: 1,
      node_id: "check",
      item: "",
      attempt: 1,
      status: "done",
      port: "no",
      input: null,
      output: null,
      error: null,
      log: [],
      started_at: run.at,
      finished_at: run.at,
    };
    const { ended } = await fixture
      .openRunner({ store })
      .start(run, { deferred: true, pinned: [pin] });
    expect(await ended).toMatchObject({ status: "succeeded" });
    expect(fixture.calls).toEqual([]);
    const skipped = (await allSteps(fixture.store, TENANT, run.id)).filter(
      ({ status }) => status === "skipped",
    );
    expect(skipped).toHaveLength(2 * items.length);
    expect(largestWrite).toBeLessThan(110);
  });

  it("fails a loop if one iteration fails, and aborts the other iterations", async (fixture) => {
    const createRun = await fixture.publish(
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
    const { id, ended } = await fixture.openRunner().start(createRun());
    expect(await ended).toMatchObject({ status: "succeeded", output: "no luck" });
    expect(fixture.calls.toSorted()).toEqual(["bad bad:each:1 1", "slow aborted", "slow begins"]);
    // Aborted steps are recorded as failed, not as running.
    const aborted = (await allSteps(fixture.store, TENANT, id)).find(
      ({ node_id }) => node_id === "slow",
    );
    expect(aborted).toMatchObject({ status: "failed", error: { code: "stopped" } });
  });

  it("uses the error as the result of a failed iteration of a loop with continueOnError", async (fixture) => {
    const createRun = await fixture.publish(
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
    const { id, ended } = await fixture.openRunner().start(createRun());
    // The other nodes of the failed iteration are aborted when it fails.
    const called = ["bad bad:each:0 1", "beside aborted", "beside begins", "good begins"];
    await expect.poll(() => fixture.calls.toSorted()).toEqual(called);
    fixture.open("good");
    const output = [{ error: { code: "failed", message: "no luck" } }, 2];
    expect(await ended).toMatchObject({ status: "succeeded", output });
    expect(await fixture.steps(id)).toContain("bad@each:0 failed");
  });

  it("aborts the other branches if one branch fails", async (fixture) => {
    const createRun = await fixture.publish(
      [start, gate("slow"), gate("a"), probe("bad", { fail: 9 }), probe("after")],
      edges("start > slow > after", "start > a > bad"),
    );
    const { id, ended } = await fixture.openRunner().start(createRun());
    await expect.poll(() => fixture.calls.length).toBe(2);
    fixture.open("a");
    expect(await ended).toMatchObject({ status: "failed", error: { node_id: "bad" } });
    expect(fixture.calls).toContain("slow aborted");
    fixture.open("slow");
    expect((await fixture.steps(id)).toSorted()).toEqual([
      "a done",
      "bad failed",
      "slow failed",
      "start done",
    ]);
  });

  it("records the steps that other branches have completed if one branch fails", async (fixture) => {
    const createRun = await fixture.publish(
      [start, probe("a", { value: 1 }), probe("bad", { fail: 9 })],
      edges("start > a", "start > bad"),
    );
    const { id, ended } = await fixture.openRunner().start(createRun());
    expect((await ended).status).toBe("failed");
    expect(await fixture.steps(id)).toEqual(["start done", "a done", "bad failed"]);
  });

  it("returns the value of the Return node, or the outputs of the last nodes if it has none", async (fixture) => {
    const withReturns = await fixture.publish(
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
    const withoutReturn = await fixture.publish(
      [start, probe("a", { value: 1 }), probe("b", { value: 2 })],
      edges("start > a", "start > b"),
    );
    const runner = fixture.openRunner();
    const outputOf = async (run: Parameters<typeof runner.start>[0]) =>
      (await (await runner.start(run)).ended).output;
    expect(await outputOf(withReturns({ input: { x: 1 } }))).toBe("one");
    expect(await outputOf(withReturns({ input: { x: 2 } }))).toBe("other");
    expect(await outputOf(withoutReturn())).toEqual({ a: 1, b: 2 });
  });

  it("fails if a step or the whole run exceeds its time limit", async (fixture) => {
    const slow = await fixture.publish(
      [start, gate("a", { settings: { timeoutMs: 20 } })],
      edges("start > a"),
    );
    const { ended } = await fixture.openRunner().start(slow());
    const message =
      "The step exceeds the time limit of 20 ms. Raise timeoutMs in the settings of its node.";
    const error = { code: "timeout", message, node_id: "a" };
    expect(await ended).toMatchObject({ status: "failed", error });
    const limited = { ...start, parameters: { ...start.parameters, settings: { timeoutMs: 500 } } };
    const createLimitedRun = await fixture.publish([limited, gate("b")], edges("start > b"));
    const second = await fixture.openRunner().start(createLimitedRun());
    expect(await second.ended).toMatchObject({
      status: "failed",
      error: {
        code: "run_timeout",
        message:
          "The run exceeds the time limit of 500 ms. Raise timeoutMs in the settings of its trigger.",
      },
    });
    expect(fixture.calls).toContain("b aborted");
    expect(await fixture.steps(second.id)).toEqual(["start done", "b failed"]);
  });

  it("fails with a message if its flow cannot be executed", async (fixture) => {
    const unknown = await fixture.publish([start, node("a", "Teleport")], edges("start > a"));
    const runner = fixture.openRunner();
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
  const publishWaiting = async (fixture: Parameters<Parameters<It>[1]>[0]) => {
    const trigger = { ...start, parameters: { parameters: [{ name: "n", type: "number" }] } };
    const rest = node("rest", "Wait", { seconds: 60 });
    const end = node("end", "Return", { value: "{{ trigger.n }}" });
    const createRun = await fixture.publish([trigger, rest, end], edges("start > rest > end"));
    return { flow: createRun().flow_id, trigger: "start", input: { n: 7 } };
  };

  it("calls the only active tool of a flow if the node names no trigger", async (fixture) => {
    const end = node("end", "Return", { value: "called" });
    const called = await fixture.publish([start, end], edges("start > end"));
    const call = node("call", "CallFlow", { flow: called().flow_id });
    const createRun = await fixture.publish([start, call], edges("start > call"));
    const { ended } = await fixture.openRunner().start(createRun());
    expect(await ended).toMatchObject({ status: "succeeded", output: "called" });
  });

  it("releases its slot while the flow that it called is suspended", async (fixture) => {
    const call = await publishWaiting(fixture);
    const calling = await fixture.publish(
      [start, node("call", "CallFlow", call)],
      edges("start > call"),
    );
    const outer = { flow: calling().flow_id, trigger: "start" };
    // The run of the middle flow is started by its caller, not claimed.
    const createRun = await fixture.publish(
      [start, node("call", "CallFlow", outer)],
      edges("start > call"),
    );
    const other = await fixture.publish([start, probe("a")], edges("start > a"));
    let aheadMs = 0;
    const now = () => Date.now() + aheadMs;
    const runner = fixture.openRunner({ concurrency: 1, suspendAfterMs: 0, leaseMs: 600_000, now });
    const run = createRun();
    const another = other({ due_at: run.due_at + 1 });
    await runner.queue([run, another]);
    const suspended = async () =>
      (await fixture.store.listRuns({ tenant: TENANT, limit: 9, status: "waiting" }))[0]?.id ?? "";
    await expect.poll(suspended).not.toBe("");
    await expect.poll(() => fixture.status(another.id)).toBe("succeeded");
    aheadMs = 120_000;
    await runner.queue([other()]); // the runner claims the suspended run with it
    await expect.poll(() => fixture.status(run.id)).toBe("succeeded");
    expect((await fixture.run(run.id)).output).toBe(7);
  });

  it("releases its slot when another worker has claimed the flow that it called", async (fixture) => {
    const child = await fixture.publish([start, gate("held")], edges("start > held"));
    const call = node("call", "CallFlow", { flow: child().flow_id, trigger: "start" });
    const createRun = await fixture.publish([start, call], edges("start > call"));
    const other = await fixture.publish([start, probe("a")], edges("start > a"));
    const isLost = ({ steps }: RunProgress) =>
      steps.some(({ node_id, status }) => node_id === "held" && status === "done");
    const store: Store = {
      ...fixture.store,
      saveProgress: async (batch) =>
        batch.some(isLost) ? batch.map(() => "lost") : fixture.store.saveProgress(batch),
    };
    const runner = fixture.openRunner({ store, concurrency: 1, leaseMs: 600_000 });
    const run = createRun();
    const another = other({ due_at: run.due_at + 1 });
    await runner.queue([run, another]);
    await expect.poll(() => fixture.calls).toContain("held begins");
    expect(await fixture.status(another.id)).toBe("queued");
    fixture.open("held");
    await expect.poll(() => fixture.status(another.id)).toBe("succeeded");
  });

  it("does not apply the default time limit of steps to a call of a flow", async (fixture) => {
    const longer = { settings: { timeoutMs: 60_000 } };
    const child = await fixture.publish(
      [start, gate("long", { value: 1, ...longer })],
      edges("start > long"),
    );
    const call = { flow: child().flow_id, trigger: "start" };
    const createRun = await fixture.publish(
      [
        start,
        node("call", "CallFlow", call),
        gate("short", { settings: { continueOnError: true } }),
        node("brief", "CallFlow", { ...call, settings: { timeoutMs: 20, continueOnError: true } }),
      ],
      edges("start > call", "start > short", "start > brief"),
    );
    const { id, ended } = await fixture.openRunner({ stepTimeoutMs: 20 }).start(createRun());
    const steps = () => fixture.steps(id);
    await expect.poll(steps).toEqual(expect.arrayContaining(["short done", "brief done"]));
    expect(await steps()).toContain("call running");
    fixture.open("long");
    expect((await ended).output).toMatchObject({ call: 1, brief: { error: { code: "timeout" } } });
  });

  it("retries a called run at its failed step", async (fixture) => {
    const child = await fixture.publish(
      [start, probe("a"), probe("b", { fail: 1, value: 2 })],
      edges("start > a > b"),
    );
    const settings = { retries: { attempts: 2, backoffMs: 1 } };
    const call = { flow: child().flow_id, trigger: "start", settings };
    const createRun = await fixture.publish(
      [start, node("call", "CallFlow", call)],
      edges("start > call"),
    );
    const { id, ended } = await fixture.openRunner().start(createRun());
    expect(await ended).toMatchObject({ status: "succeeded", output: 2 });
    expect(fixture.calls).toEqual(["a a 1", "b b 1", "b b 2"]);
    expect(await fixture.steps(id)).toEqual(["start done", "call failed", "call#2 done"]);
  });

  it("cancels a called run that it no longer waits for, and continues", async (fixture) => {
    const child = await fixture.publish(
      [start, gate("long"), probe("never")],
      edges("start > long"),
    );
    const call = { flow: child().flow_id, trigger: "start" };
    const late = await fixture.publish(
      // Long enough for the called run to start on a busy machine.
      [start, node("call", "CallFlow", { ...call, settings: { timeoutMs: 1_000 } }), gate("on")],
      edges("start > call.error > on"),
    );
    const iteration = await fixture.publish(
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
    const runner = fixture.openRunner();
    const cancelled = async () =>
      (await fixture.store.listRuns({ tenant: TENANT, limit: 9, status: "cancelled" })).map(
        ({ parent_run }) => parent_run,
      );
    const tooLate = await runner.start(late());
    await expect.poll(cancelled).toEqual([tooLate.id]);
    const failing = await runner.start(iteration());
    await expect.poll(() => fixture.calls.filter((call) => call === "long begins").length).toBe(2);
    fixture.open("first");
    await expect.poll(cancelled).toEqual([failing.id, tooLate.id]);
    await expect.poll(() => fixture.calls.filter((call) => call === "on begins").length).toBe(2);
    fixture.open("on");
    expect(await Promise.all([tooLate.ended, failing.ended])).toMatchObject([
      { status: "succeeded" },
      { status: "succeeded" },
    ]);
  });

  it("acquires a slot again before it continues after a call of a flow", async (fixture) => {
    const call = node("call", "CallFlow", await publishWaiting(fixture));
    const createRun = await fixture.publish(
      [start, call, gate("on")],
      edges("start > call.error > on"),
    );
    const runner = fixture.openRunner({ concurrency: 1, suspendAfterMs: 0 });
    const runs = [createRun(), createRun(), createRun()];
    await runner.queue(runs);
    const list = (status: "waiting" | "succeeded") =>
      fixture.store.listRuns({ tenant: TENANT, limit: 9, status });
    const count = async (status: "waiting" | "succeeded") => (await list(status)).length;
    await expect.poll(() => count("waiting")).toBe(3);
    let ended = 0;
    const unsubscribe = fixture.store.subscribe(({ topic }) => {
      if (topic === "run_ended") ended += 1;
    });
    for (const { id } of await list("waiting"))
      await fixture.store.cancelRun(TENANT, id, Date.now());
    await expect.poll(() => [ended, ...fixture.calls]).toEqual([3, "on begins"]);
    unsubscribe();
    // Gives the callers time to read their called runs.
    for (const { id } of [...runs, ...runs, ...runs]) await fixture.run(id);
    const other = await fixture.publish([start, probe("a")], edges("start > a"));
    // Runs that continue after a call get slots in order, and before queued runs.
    await runner.queue([other({ due_at: 1 })]);
    expect(fixture.calls).toEqual(["on begins"]);
    fixture.open("on");
    await expect.poll(() => count("succeeded")).toBe(4);
    expect(fixture.calls).toEqual(["on begins", "on begins", "on begins", "a a 1"]);
  });

  it("executes a called run even if callers hold every slot", async (fixture) => {
    const call = await publishWaiting(fixture);
    const createRun = await fixture.publish(
      [start, node("call", "CallFlow", call)],
      edges("start > call"),
    );
    const first = fixture.openRunner({ concurrency: 1, suspendAfterMs: 0 });
    const run = createRun();
    await first.queue([run]);
    await expect
      .poll(
        async () =>
          (await fixture.store.listRuns({ tenant: TENANT, limit: 9, status: "waiting" })).length,
      )
      .toBe(1);
    await first.close();
    // After the restart, both the caller and the called run must be claimed.
    fixture.openRunner({ concurrency: 1, now: () => Date.now() + 120_000 });
    await expect.poll(() => fixture.status(run.id)).toBe("succeeded");
    expect((await fixture.run(run.id)).output).toBe(7);
    const runs = await fixture.store.listRuns({ tenant: TENANT, limit: 9 });
    expect(runs.map(({ parent_run, depth }) => [parent_run, depth])).toEqual([
      [run.id, 1],
      [undefined, 0],
    ]);
  });
}
