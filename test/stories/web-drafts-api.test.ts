/** Runs of drafts, tests of single nodes, and pinned data, over the API of the built hub. */
import { describe, expect, it } from "vitest";
import { type Api, type Backend, startApi } from "../support/api-client.ts";
import { deliver, issueOpened } from "../support/deliver.ts";
import { edge, node } from "../support/flow-samples.ts";

const getJson = async (api: Api, path: string) => (await api.expect(200, "GET", path)).json;

const parameters = [{ name: "who", type: "string" }];
const draft = {
  name: "Greeting",
  nodes: [
    node("ask", "UserIntent", { toolDescription: "Asks.", parameters }),
    node("on_issue", "Event", { source: "github", type: "issues" }),
    node("loud", "Transform", { expression: "$uppercase(trigger.who)" }),
    node("check", "Condition", { conditions: [{ left: "{{ loud }}", op: "ne", right: "" }] }),
    node("greet", "Transform", { expression: '"Hello " & nodes.loud' }),
    node("end", "Return", { value: "{{ greet }}" }),
    node("title", "Transform", { expression: "trigger.data.issue.title" }),
    node("unfinished", "Transform", { expression: "((" }),
  ],
  edges: [
    edge("ask", "loud"),
    edge("loud", "check"),
    { ...edge("check", "greet"), sourceHandle: "true" },
    edge("greet", "end"),
    edge("on_issue", "title"),
    edge("title", "unfinished"),
  ],
};

describe.each<Backend>(["SQLite", "PostgreSQL", "workerd"])("a draft, on %s", (backend) => {
  it("runs before it is published, also with pinned data, and each node can be tested alone", async () => {
    const api = await startApi(backend);
    await api.expect(201, "POST", "/api/apps", { slug: "desk", name: "Desk" });
    const created = await api.expect(201, "POST", "/api/apps/desk/flows", draft);
    const flow = `/api/flows/${created.json.id}`;
    const run = (body: object, query = "draft=1&wait=1") =>
      api.call("POST", `${flow}/runs?${query}`, body);
    const input = { who: "ada" };

    const draftRun = await run({ trigger: "ask", input });
    expect(draftRun.status, draftRun.text).toBe(200);
    expect(draftRun.json).toMatchObject({ status: "succeeded", output: "Hello ADA", version: -1 });
    expect(draftRun.json.steps).toHaveLength(5);
    expect((await getJson(api, `${flow}/versions/-1`)).nodes).toHaveLength(5);
    expect((await getJson(api, `${flow}/versions`)).items).toEqual([]);
    const queued = await run({ trigger: "ask", input }, "draft=1");
    expect(queued.status).toBe(202);
    expect(queued.json).toMatchObject({ version: -1, cause: "api" });
    expect((await getJson(api, "/api/runs")).items).toHaveLength(2);

    const pins = { loud: { output: "PINNED" } };
    const pinned = (await run({ trigger: "ask", input, pins })).json;
    expect(pinned.output).toBe("Hello PINNED");
    const step = pinned.steps.find(({ node_id }: { node_id: string }) => node_id === "loud");
    expect(step).toMatchObject({ status: "done", output: "PINNED" });
    expect(step.log[0].text).toContain("Pinned");
    const falseBranch = (
      await run({ trigger: "ask", input, pins: { check: { output: 1, port: "false" } } })
    ).json;
    expect(
      falseBranch.steps.find(({ node_id }: { node_id: string }) => node_id === "greet").status,
    ).toBe("skipped");

    for (const [body, path] of [
      [{ trigger: "none" }, "trigger"],
      [{ trigger: "ask", input: { who: 5 } }, "who"],
      [{ trigger: "ask", input, pins: { none: { output: 1 } } }, "pins.none"],
      [{ trigger: "ask", input, pins: { ask: { output: 1 } } }, "pins.ask"],
      [{ trigger: "ask", input, pins: { check: { output: 1, port: "x" } } }, "pins.check.port"],
      [{ trigger: "on_issue", input: {} }, "unfinished.expression"],
    ] as const) {
      const rejected = await run(body);
      expect(rejected.status, rejected.text).toBe(400);
      expect(rejected.json.errors[0].path).toContain(path);
    }
    expect((await run({ trigger: "ask", input, pins }, "wait=1")).status).toBe(400);

    const event = await deliver(api.hub.url, { body: JSON.stringify(issueOpened) });
    const { id } = (await event.json()) as { id: string };
    const fromEvent = await run({
      trigger: "on_issue",
      event: id,
      pins: { unfinished: { output: null } },
    });
    expect(fromEvent.json, fromEvent.text).toMatchObject({ status: "succeeded" });
    expect(fromEvent.text).toContain(issueOpened.issue.title);
    expect(await getJson(api, `/api/events/${id}`)).toMatchObject({ outcome: "unmatched" });

    const testNode = (name: string, body: object = {}) =>
      api.call("POST", `${flow}/nodes/${name}/test`, body);
    const withoutPins = await testNode("greet");
    expect(withoutPins.status).toBe(400);
    expect(withoutPins.json.errors[0].path).toBe("pins.loud");
    const withPins = await testNode("greet", {
      pins: { loud: { output: "X" }, check: { output: true } },
    });
    expect(withPins.json, withPins.text).toMatchObject({ status: "succeeded", output: "Hello X" });
    const fromRun = await testNode("greet", { from_run: draftRun.json.id });
    expect(fromRun.json.output).toBe("Hello ADA");
    const fromRunWithPins = await testNode("greet", {
      from_run: draftRun.json.id,
      pins: { loud: { output: "Y" } },
    });
    expect(fromRunWithPins.json.output).toBe("Hello Y");
    const fromInput = await testNode("loud", { input: { who: "bob" } });
    expect(fromInput.json).toMatchObject({ status: "succeeded", output: "BOB" });
    expect(fromInput.json.steps).toHaveLength(2);
    const unfinished = await testNode("unfinished", { pins: { title: { output: 1 } } });
    expect([unfinished.status, unfinished.json.errors[0].path]).toEqual([
      400,
      "unfinished.expression",
    ]);
    expect((await testNode("ask")).status).toBe(400);
    expect((await testNode("none")).status).toBe(404);
    expect((await testNode("greet", { from_run: "none" })).status).toBe(404);

    const callToken = await api.token("--scope", "flows:call");
    const denied = await api.call(
      "POST",
      `${flow}/runs?draft=1`,
      { trigger: "ask", input },
      { token: callToken },
    );
    expect(denied.status).toBe(403);
    await api.expect(200, "PATCH", flow, {
      nodes: draft.nodes.filter(({ id }) => id !== "unfinished"),
      edges: draft.edges.filter(({ target }) => target !== "unfinished"),
    });
    const published = await api.expect(200, "POST", `${flow}/publish`);
    expect(published.json).toMatchObject({ version: 1, draft: "published" });
  });

  it("uses the pin of a node in a loop in each iteration that reaches it, without executing the node", async () => {
    const api = await startApi(backend);
    await api.expect(201, "POST", "/api/apps", { slug: "desk", name: "Desk" });
    const created = await api.expect(201, "POST", "/api/apps/desk/flows", {
      name: "Loop",
      nodes: [
        node("ask", "UserIntent", { toolDescription: "Asks." }),
        node("each", "ForEach", { items: ["a", "b", "c"] }),
        node("check", "Condition", { conditions: [{ left: "{{ item }}", op: "ne", right: "b" }] }),
        node("call", "Transform", { expression: "((" }),
        node("after", "Transform", { expression: "item & nodes.call" }),
        node("end", "Return", { value: "{{ each }}" }),
      ],
      edges: [
        edge("ask", "each"),
        { ...edge("each", "check"), sourceHandle: "item" },
        { ...edge("check", "call"), sourceHandle: "true" },
        edge("call", "after"),
        { ...edge("each", "end"), sourceHandle: "done" },
      ],
    });
    const { json } = await api.expect(
      200,
      "POST",
      `/api/flows/${created.json.id}/runs?draft=1&wait=1`,
      { trigger: "ask", pins: { call: { output: "!" } } },
    );
    expect(json).toMatchObject({ status: "succeeded", output: ["a!", expect.anything(), "c!"] });
    const doneSteps = (id: string) =>
      json.steps.filter(
        ({ node_id, status }: Record<string, string>) => node_id === id && status === "done",
      );
    expect(doneSteps("after")).toMatchObject([{ item: "each:0" }, { item: "each:2" }]);
    const log = [{ text: expect.stringContaining("Pinned") }];
    expect(doneSteps("call")).toMatchObject([{ item: "", log }]);
  });

  it("continues after a pinned node on a port that exists, also while the node is unfinished", async () => {
    const api = await startApi(backend);
    await api.expect(201, "POST", "/api/apps", { slug: "desk", name: "Desk" });
    const { json: flow } = await api.expect(201, "POST", "/api/apps/desk/flows", {
      name: "Sort",
      nodes: [
        node("ask", "UserIntent", { toolDescription: "Asks." }),
        node("sort", "Switch", { value: "{{ trigger }}", cases: [] }),
        node("end", "Return", { value: "sorted" }),
      ],
      edges: [edge("ask", "sort"), { ...edge("sort", "end"), sourceHandle: "bug" }],
    });
    const run = (pin: object) =>
      api.call("POST", `/api/flows/${flow.id}/runs?draft=1&wait=1`, {
        trigger: "ask",
        pins: { sort: { output: "x", ...pin } },
      });
    for (const pin of [{}, { port: "bug" }])
      expect((await run(pin)).json).toMatchObject({ status: "succeeded", output: "sorted" });
    expect((await run({ port: "none" })).json.errors).toEqual([
      { path: "pins.sort.port", message: "must be one of bug" },
    ]);

    const cases = [{ name: "chore", value: "chore" }];
    await api.expect(200, "PATCH", `/api/flows/${flow.id}/nodes/sort`, { parameters: { cases } });
    const rejected = await run({});
    expect([rejected.status, rejected.json.errors]).toEqual([
      400,
      [{ path: "sort", message: expect.stringMatching(/^sort: has no output port bug; it has /) }],
    ]);
  });
});
