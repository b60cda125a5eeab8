/** Tests that the circuit breaker stops triggers if flows start themselves or each other in a loop. */
import type { FlowEdge, FlowNode } from "@signalbox/rules/flows/model.ts";
import { expect } from "vitest";
import { createLargeReads } from "../../../events/inbox/large-reads.ts";
import type { NewEvent } from "../../../events/model.ts";
import { createIds } from "../../../kernel/lib/ids.ts";
import { createAppend } from "../../../pipeline.ts";
import { OWN_SOURCE } from "../../matching/event-input.ts";
import { createExplainer } from "../../matching/explain.ts";
import { createMatcher } from "../../matching/matcher.ts";
import type { TrippedTrigger } from "../../matching/model.ts";
import type { It } from "../contract.ts";
import { createNodeServices } from "../node-services.ts";
import { noAgent } from "../test-agent.ts";
import { edges, type Fixture, noConnections, node, TENANT } from "./fixture.ts";

const newId = createIds();

const unexpected = () => {
  throw new Error("unexpected call");
};

/** A runner whose flows start from events, with a clock that the test advances. */
function openCycle(fixture: Fixture, maxLoops: number, maxChain = 20) {
  const { store } = fixture;
  let aheadMs = 0;
  const now = () => Date.now() + aheadMs;
  const options = {
    store,
    runJob: unexpected,
    newId,
    now,
    defer: setImmediate,
    maxChain,
    maxLoops,
  };
  const matcher = createMatcher(options);
  const tripped: TrippedTrigger[] = [];
  const append = createAppend({
    matcher,
    commit: {
      async append(request) {
        const [appended] = await store.appendEvents([request], null);
        if (!appended) throw new Error("no result");
        return appended;
      },
    },
    onTripped: (_, trigger) => tripped.push(trigger),
  });
  const runner = fixture.openRunner({
    now,
    services: createNodeServices({
      store,
      append,
      start: (run, options) => runner.start(run, options),
      fetch: unexpected,
      runJob: unexpected,
      agent: noAgent,
      newId,
      now,
      maxChain,
      connections: noConnections,
    }),
  });
  const runs = () => store.listRuns({ tenant: TENANT, limit: 1000 });
  return {
    tripped,
    runs,
    explain: createExplainer({ ...options, largeReads: createLargeReads() }).explain,
    events: () => store.listEvents({ tenant: TENANT, limit: 1000 }),
    advance(ms: number) {
      aheadMs += ms;
    },
    async publish(nodes: FlowNode[], flowEdges: FlowEdge[]): Promise<string> {
      const createRun = await fixture.publish(nodes, flowEdges);
      const graph = { nodes, edges: flowEdges };
      const { flow_id: id } = createRun();
      await store.publishFlow({ tenant: TENANT, id }, () => ({
        graph,
        triggers: nodes
          .filter(({ type }) => type === "Event")
          .map(({ id: node_id, parameters: { source, type } }) => ({
            kind: "event",
            tool_name: null,
            active: true,
            config: {},
            node_id,
            source: String(source),
            type: String(type),
          })),
        note: "",
        by: "test",
        at: 1,
        aliasUntil: 1,
      }));
      return id;
    },
    async receive(type: string): Promise<string> {
      const event: NewEvent = {
        id: newId(),
        source: "github",
        source_id: "github",
        external_id: null,
        type,
        received_at: now(),
        action: null,
        repo: null,
        sender: null,
        number: null,
        title: null,
        url: null,
        check_result: null,
        content_type: "application/json",
        headers: {},
        body: new TextEncoder().encode("{}"),
      };
      await append({ tenant: TENANT, events: [event] });
      return event.id;
    },
    /** Waits until every run has succeeded. */
    async settle(): Promise<void> {
      await expect
        .poll(async () => (await runs()).every(({ status }) => status === "succeeded"), {
          timeout: 20_000,
        })
        .toBe(true);
    },
    close: () => matcher.close(),
  };
}

const onEvent = (slug: string, source: string, type: string) =>
  node(slug, "Event", { source, type });
const emit = (type: string) => node("emit", "EmitEvent", { type, data: {} });
const forEach = (count: number) =>
  node("each", "ForEach", { items: Array.from({ length: count }, (_, index) => index) });

export function loopsContract(it: It): void {
  it("of one flow stops at the limit per minute, and the breaker reports a reason", async (fixture) => {
    const cycle = openCycle(fixture, 5);
    const flow = await cycle.publish(
      [
        onEvent("push", "github", "push"),
        onEvent("own", OWN_SOURCE, "rain"),
        forEach(10),
        emit("rain"),
      ],
      edges("push > each", "own > each", "each.item > emit"),
    );
    await cycle.receive("push");
    await cycle.settle();
    // One run of the webhook and five runs that the flow caused; each emits ten events.
    expect((await cycle.runs()).length).toBe(6);
    expect((await cycle.events()).items.length).toBe(61);
    expect(cycle.tripped.length).toBe(55);
    expect(cycle.tripped.filter(({ isFirst }) => isFirst).length).toBe(1);
    const [trip] = cycle.tripped;
    const explained = await cycle.explain(TENANT, trip?.event_id ?? "", { limit: 50 });
    expect(explained.items.find(({ trigger }) => trigger === "Flow / own")).toMatchObject({
      matched: false,
      decided: "on arrival",
      reason: expect.stringMatching(/more than 5 times a minute.*SIGNALBOX_MAX_LOOPS/),
      run_id: null,
    });
    expect(await fixture.store.listTrips(TENANT, [flow], 0)).toMatchObject([
      { node_id: "own", limit: "loops", max: 5 },
    ]);

    // Webhooks still start runs. After a minute the limit is reset.
    await cycle.receive("push");
    await cycle.settle();
    expect((await cycle.runs()).length).toBe(7);
    cycle.advance(60_000);
    await cycle.receive("push");
    await cycle.settle();
    expect((await cycle.runs()).length).toBe(13);
    cycle.close();
  });

  it("of two flows stops at the limit per minute", async (fixture) => {
    const cycle = openCycle(fixture, 4);
    const there = await cycle.publish(
      [onEvent("push", "github", "push"), onEvent("back", OWN_SOURCE, "back"), emit("there")],
      edges("push > emit", "back > emit"),
    );
    const back = await cycle.publish(
      [onEvent("there", OWN_SOURCE, "there"), emit("back")],
      edges("there > emit"),
    );
    await cycle.receive("push");
    await cycle.settle();
    expect(cycle.tripped).toMatchObject([
      { flow_id: there, node_id: "back", limit: "loops", max: 4 },
    ]);
    const runs = (await cycle.runs()).toReversed();
    expect(runs.map(({ flow_id }) => (flow_id === there ? "A" : "B")).join("")).toBe("ABABABABAB");
    expect(runs.map(({ chain }) => chain.length)).toEqual([0, 1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(runs[3]?.chain).toEqual([there, back, there]);
    cycle.close();
  });

  it("stops at the maximum length of the causation chain", async (fixture) => {
    const cycle = openCycle(fixture, 100, 3);
    const flow = await cycle.publish(
      [onEvent("push", "github", "push"), onEvent("own", OWN_SOURCE, "rain"), emit("rain")],
      edges("push > emit", "own > emit"),
    );
    await cycle.receive("push");
    await cycle.settle();
    expect((await cycle.runs()).map(({ depth }) => depth)).toEqual([3, 2, 1]);
    const [trip] = cycle.tripped;
    expect(cycle.tripped).toMatchObject([
      { flow_id: flow, node_id: "own", limit: "chain", max: 3 },
    ]);
    const [verdict] = await fixture.store.listVerdicts(TENANT, trip?.event_id ?? "");
    expect(verdict?.reasons.at(-1)).toMatchObject({
      on: "breaker",
      holds: false,
      message: expect.stringContaining("SIGNALBOX_MAX_CHAIN"),
    });
    cycle.close();
  });
}
