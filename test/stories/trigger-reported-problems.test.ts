/**
 * Problems that users of other systems with trigger callbacks have reported. Each test checks that the
 * hub does not have one of them. Tests for other such problems are in trigger-handshake.test.ts,
 * trigger-burst.test.ts and packages/hub/src/flows/runs/ticker-replicas.test.ts.
 */
import { operators } from "@signalbox/rules/match/operators.ts";
import { describe, expect, it } from "vitest";
import { MAX_WAIT_MS } from "../support/timeouts.ts";
import { type StoryTrigger, startTriggerStory } from "../support/trigger-story.ts";

interface Run {
  id: string;
  event_id: string;
  status: string;
}

const TYPE = "issue.opened";

const SKIP_REASON = "matching does not depend on the host";

describe.each(["SQLite", "workerd"] as const)("an event of a trigger server, on %s", (backend) => {
  it("is stored with its payload, and a crash does not lose it", async () => {
    const story = await startTriggerStory({ backend });
    await story.publish([{ id: "a", type: TYPE }]);
    await story.waitForStates({ a: "active" });
    const data = { n: 1, text: "the whole payload" };
    const [sent] = await story.server.notify(TYPE, data);
    await story.killHub();
    expect(sent?.status).toBe(202);
    await story.restartHub();
    const { items } = await story.call<{ items: { id: string }[] }>("GET", "/api/events");
    const path = `/event?id=${items[0]?.id}`;
    const event = await story.call<{ payload: unknown }>("GET", path);
    expect(event.payload).toEqual(data);
    await story.expectFiredBy(1, ["a"]);
  });

  it("cannot start a chain of runs that is longer than the limit", async () => {
    const { call, server, connection, waitForStates } = await startTriggerStory({ backend });
    const eventNode = (id: string, source: string) => ({
      id,
      type: "Event",
      name: id,
      parameters: { source, type: TYPE },
    });
    await call("POST", "/api/apps/triggers/flows", {
      name: "Loop",
      nodes: [
        eventNode("callback", connection),
        eventNode("again", "signalbox"),
        {
          id: "emit",
          type: "EmitEvent",
          name: "Emit",
          parameters: { type: TYPE, data: { n: "{{ trigger.data.n }}" } },
        },
      ],
      edges: ["callback", "again"].map((source) => ({ source, target: "emit" })),
    }).then((flow) => call("POST", `/api/flows/${(flow as { id: string }).id}/publish`, {}));
    await waitForStates({ callback: "active" });
    await server.notify(TYPE, { n: 1 });
    const listRuns = async () => (await call<{ items: Run[] }>("GET", "/api/runs?limit=100")).items;
    await expect
      .poll(async () => (await listRuns()).filter(({ status }) => status === "succeeded").length, {
        timeout: MAX_WAIT_MS,
      })
      .toBe(5); // the default of SIGNALBOX_MAX_CHAIN
    const { items } = await call<{ items: { id: string }[] }>("GET", "/api/events");
    expect(items).toHaveLength(6);
    const explanation = await call("GET", `/api/events/${items[0]?.id}/explain`);
    expect(JSON.stringify(explanation)).toContain(
      "stopped by the breaker: more than 5 runs triggered each other",
    );
    expect(await listRuns()).toHaveLength(5);
  });

  const data = {
    n: 1,
    number: 123,
    urgent: true,
    title: "Crash in hub",
    issue: { author: { name: "ada" }, labels: [{ name: "bug" }, { name: "p1" }] },
  };

  it.for<[string, StoryTrigger["params"], StoryTrigger["params"]]>([
    ['the text "123" for the number 123', { number: "123" }, { number: "124" }],
    ['the text "true" for the value true', { urgent: "true" }, { urgent: "false" }],
    ["a nested path", { "issue.author.name": "ada" }, { "issue.author.name": "bob" }],
    ["a path into a list", { "issue.labels[].name": "p1" }, { "issue.labels[].name": "p2" }],
    ["blank params", { title: "", number: null }, { title: "", number: 124 }],
  ])("matches a trigger whose params have %s", async ([, matching, other], { skip }) => {
    skip(backend === "workerd", SKIP_REASON);
    const story = await startTriggerStory({ backend });
    await story.publish([
      { id: "matching", type: TYPE, params: matching ?? {} },
      { id: "other", type: TYPE, params: other ?? {} },
    ]);
    await story.waitForStates({ matching: "active", other: "active" });
    await story.server.notify(TYPE, data);
    await story.expectFiredBy(1, ["matching"]);
  });

  it("matches params with each operator, and the schema of the trigger allows each", async ({
    skip,
  }) => {
    skip(backend === "workerd", SKIP_REASON);
    const story = await startTriggerStory({ backend });
    const conditions: Record<string, Record<string, unknown>> = {
      eq: { number: { op: "eq", value: "123" } },
      ne: { number: { op: "ne", value: 7 } },
      in: { number: { op: "in", value: [7, "123"] } },
      contains: { title: { op: "contains", value: "Crash" } },
      starts_with: { title: { op: "starts_with", value: "Crash" } },
      glob: { title: { op: "glob", value: "Crash*hub" } },
      gt: { number: { op: "gt", value: 122 } },
      lt: { number: { op: "lt", value: 124 } },
      exists: { "issue.author": { op: "exists", value: true } },
    };
    for (const op of operators) expect(conditions, op).toHaveProperty(op);
    const triggers = Object.entries(conditions).map(([id, params]) => ({ id, type: TYPE, params }));
    await story.publish(triggers);
    await story.waitForStates(Object.fromEntries(triggers.map(({ id }) => [id, "active"])));
    await story.server.notify(TYPE, data);
    await story.expectFiredBy(
      1,
      triggers.map(({ id }) => id),
    );
    const types = JSON.stringify(await story.call("GET", "/api/node-types"));
    for (const op of operators) expect(types).toContain(`"${op}"`);
  });

  it("can be a test event, which is stored, matched and explained, and starts a run", async () => {
    const { publish, waitForStates, call, connection, expectFiredBy } = await startTriggerStory({
      backend,
    });
    await publish([
      { id: "hub", type: TYPE, params: { repo: "hub" } },
      { id: "web", type: TYPE, params: { repo: "web" } },
    ]);
    await waitForStates({ hub: "active", web: "active" });
    const sent = await call<{ id: string; outcome: string }>(
      "POST",
      `/api/connections/${connection}/triggers/${TYPE}/test`,
      { data: { repo: "hub", n: 5 } },
    );
    expect(sent).toEqual({ id: expect.any(String), type: TYPE, outcome: "stored" });
    await expectFiredBy(5, ["hub"]);
    const event = await call("GET", `/event?id=${sent.id}`);
    expect(event).toMatchObject({ source: connection, type: TYPE, payload: { repo: "hub", n: 5 } });
    const explanation = JSON.stringify(await call("GET", `/api/events/${sent.id}/explain`));
    expect(explanation).toContain('"matched":true');
    expect(explanation).toContain('"matched":false');
  });
});
