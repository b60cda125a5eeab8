/** Flows whose expressions, patterns and code never end: each fails with its limit, and the hub responds. */
import { DatabaseSync } from "node:sqlite";
import { describe, expect, it, vi } from "vitest";
import { type Api, type Backend, startApi } from "../support/api-client.ts";
import { deliver } from "../support/deliver.ts";
import { edge, intent, node } from "../support/flow-samples.ts";
import { WAIT } from "../support/timeouts.ts";
import { objectFile } from "../support/worker-process.ts";

const hosts: Backend[] = ["SQLite", "workerd"];

const PATTERN = "^(a+)+$";
/** V8 needs minutes to find out that the pattern does not match this text. */
const TEXT = `${"a".repeat(40)}!`;
const CATASTROPHIC = `$match("${TEXT}", /${PATTERN}/)`;

/** Publishes a flow with one tool, "Go", which leads to `target`. */
async function publish(api: Api, target: ReturnType<typeof node>, parameters = {}) {
  const start = intent("Go", parameters);
  const flow = { name: target.id, nodes: [start, target], edges: [edge(start.id, target.id)] };
  return publishFlow(api, flow);
}
async function publishFlow(api: Api, flow: object): Promise<string> {
  const { id } = (await api.expect(201, "POST", "/api/apps/desk/flows", flow)).json;
  await api.expect(200, "POST", `/api/flows/${id}/publish`);
  return id;
}

async function startWithApp(backend: Backend): Promise<Api> {
  const api = await startApi(backend);
  await api.expect(201, "POST", "/api/apps", { slug: "desk", name: "Desk" });
  return api;
}

describe.each(hosts)("on %s", (backend) => {
  it.each([
    ["Transform", { expression: CATASTROPHIC }, "code_timeout", "exceeds the time limit of 1 s"],
    [
      "Transform",
      { expression: "$sum($map([1..1e7], function($n) { $n * 2 }))" },
      expect.stringMatching(/^code_(timeout|out_of_memory)$/),
      "limit of",
    ],
    [
      "Transform",
      { expression: "($f := function($n) { $f($n + 1) }; $f(0))" },
      expect.stringMatching(/^code_(timeout|out_of_memory)$/),
      "limit of",
    ],
    [
      "Code",
      { code: `return /${PATTERN}/.test("${TEXT}")` },
      "code_timeout",
      "exceeds the time limit of 50 ms",
    ],
    [
      "Code",
      { code: "return (function f() { return Promise.resolve().then(f) })()", timeoutMs: 2000 },
      "code_out_of_memory",
      "exceeds the memory limit of 32 MB",
    ],
    [
      "Code",
      { code: "while (true) await null" },
      "code_timeout",
      "exceeds the time limit of 50 ms",
    ],
    [
      "Code",
      {
        code: "let a = []; for (let i = 0; i < 1e5; i++) a = [a]; return a",
        timeoutMs: 2000,
        memoryMb: 64,
      },
      "code_failed",
      "stack overflow",
    ],
  ])("a %s with %j fails with its limit", async (type, parameters, code, message) => {
    const api = await startWithApp(backend);
    const flow = await publish(api, node("hostile", type, parameters));
    const run = await api.expect(200, "POST", `/api/flows/${flow}/runs?wait=1`, { trigger: "go" });
    expect(run.json).toMatchObject({
      status: "failed",
      error: { code, message: expect.stringContaining(message), node_id: "hostile" },
    });
    await api.expect(200, "GET", "/api/hub");
  });

  it("a call is rejected if the pattern of a parameter never ends", async () => {
    const api = await startWithApp(backend);
    const flow = await publish(api, node("end", "Return", { value: 1 }), {
      parameters: [{ name: "word", schema: { type: "string", pattern: PATTERN } }],
    });
    const call = (word: string) =>
      api.call("POST", `/api/flows/${flow}/runs?wait=1`, { trigger: "go", input: { word } });
    expect((await call("aaa")).json).toMatchObject({ status: "succeeded" });
    const rejected = await call(TEXT);
    expect(rejected.status).toBe(400);
    expect(rejected.json.detail).toMatch(/word: validation exceeds the time limit of 1 s/);
    expect((await call("aaa")).json).toMatchObject({ status: "succeeded" });
  });

  it("a trigger whose filter never ends does not fire, and others do", async () => {
    const api = await startWithApp(backend);
    const eventFlow = (name: string, filter: string) => ({
      name,
      nodes: [
        node("event", "Event", { source: "github", type: "issues", filter }),
        node("end", "Return", { value: name }),
      ],
      edges: [edge("event", "end")],
    });
    const hostile = await publishFlow(api, eventFlow("Hostile", CATASTROPHIC));
    const harmless = await publishFlow(api, eventFlow("Harmless", "data.action = 'opened'"));
    expect((await deliver(api.hub.url)).status).toBe(202);
    const [event] = (await api.expect(200, "GET", "/api/events")).json.items;
    await vi.waitFor(async () => {
      const { items } = (await api.expect(200, "GET", `/api/events/${event.id}/explain`)).json;
      const explained = new Map(items.map((item: { flow_id: string }) => [item.flow_id, item]));
      expect(explained.get(harmless)).toMatchObject({ matched: true, decided: "on arrival" });
      expect(explained.get(hostile)).toMatchObject({
        matched: false,
        reason: expect.stringContaining("exceeds the time limit of 1 s"),
      });
    }, WAIT);
    const { warnings } = (await api.expect(200, "GET", `/api/flows/${hostile}`)).json;
    expect(warnings).toContainEqual(
      expect.objectContaining({
        code: "breaker_tripped",
        message: expect.stringContaining("its filter exceeds the limit of 1 s"),
      }),
    );
  });
});

it("on workerd, the claim of a run is durable before its code blocks the object", async () => {
  const api = await startWithApp("workerd");
  const code = "const s = 'a'.repeat(8e6); for (;;) s.indexOf('b')";
  const flow = await publish(
    api,
    node("blocking", "Code", { code, timeoutMs: 2000, memoryMb: 128 }),
  );
  await api.expect(202, "POST", `/api/flows/${flow}/runs`, { trigger: "go" });
  const claims = () => {
    const database = new DatabaseSync(objectFile(api.env.SIGNALBOX_DATA ?? "", "WebhookStore"), {
      readOnly: true,
    });
    try {
      return database.prepare("SELECT status, idle_claims FROM runs").all();
    } finally {
      database.close();
    }
  };
  await expect.poll(claims, WAIT).toMatchObject([{ status: "running", idle_claims: 1 }]);
});
