/** `Agent` nodes against a fake provider: durable by turn on every store and host. */
import { expect } from "vitest";
import { createFakeModel, type ModelScript } from "../../../../../test/support/model-wire.ts";
import { createAskModel } from "../../agents/ask-model.ts";
import { newNonce } from "../../agents/nonce.ts";
import { sampleConnection, sampleOffers } from "../../store/contract/connection-sample.ts";
import type { It } from "../contract.ts";
import { noAgent } from "../test-agent.ts";
import { edges, type Fixture, node, start, systemTimers, TENANT } from "./fixture.ts";

/** Longer than the lease of a run. */
const MINUTE = 60_000;

const agent = node("agent", "Agent", {
  model: { provider: "anthropic", name: "fake" },
  instructions: "Count.",
  tools: [{ connection: "weather-7kq2xv" }],
  outputSchema: { type: "object", properties: { total: { type: "integer" } } },
});

/** Calls two tools in the first turn and one in the second, and returns a result in the third. */
const script: ModelScript = ({ calls, tools: [tool = ""] }) => {
  const made = (n: number) => ({ tool, arguments: { n } });
  if (calls.length === 0) return { text: "First.", calls: [made(1), made(2)] };
  if (calls.length === 2) return { text: "Second.", calls: [made(3)] };
  return { calls: [{ tool: "submit_result", arguments: { total: calls.length } }] };
};
const OUTPUT = {
  text: "",
  result: { total: 3 },
  turns: 3,
  usage: { input_tokens: 300, output_tokens: 60 },
};

async function prepare(f: Fixture, scripted = script) {
  const model = createFakeModel(scripted);
  const called: string[] = [];
  await f.store.createConnection(sampleConnection({ tenant: TENANT }), 1);
  return {
    model,
    called,
    services: {
      agent: {
        ...noAgent,
        model: createAskModel({ fetch: model.fetch, timers: systemTimers() }),
        newNonce,
      },
      connections: {
        loadOffers: async () => sampleOffers(),
        async callTool(
          _: unknown,
          call: { arguments: { n?: unknown } },
          { idempotencyKey = "" }: { idempotencyKey?: string | undefined },
        ) {
          called.push(`${call.arguments.n} ${idempotencyKey.split(":").slice(1).join(":")}`);
          return { isError: false, content: [{ type: "text", text: "ok" }] };
        },
      },
    },
  };
}

const CALLED = ["1 agent:tool-1-1", "2 agent:tool-1-2", "3 agent:tool-2-1"];
const PARTS = ["prompt", "turn-1", "tool-1-1", "tool-1-2", "turn-2", "tool-2-1", "turn-3"];

export function agentsContract(it: It): void {
  it("records its prompt, each answer and each tool call", async (f) => {
    const { services, called } = await prepare(f);
    const make = await f.publish([start, agent], edges("start > agent"));
    const run = await (await f.openRunner(services).start(make())).ended;
    expect(run).toMatchObject({ status: "succeeded", output: OUTPUT });
    expect(called.toSorted()).toEqual(CALLED);
    expect(await f.steps(run.id)).toEqual([
      "start done",
      "agent done",
      ...PARTS.map((part) => `agent@#${part} done`),
    ]);
  });

  it("repeats no finished answer and no finished call, although a worker crashes after each part", async (f) => {
    const { services, called, model } = await prepare(f);
    const make = await f.publish([start, agent], edges("start > agent"));
    const run = make();
    await f.store.queueRuns([run]);
    // The two calls of a turn may be saved together.
    const crashes = PARTS.filter((part) => part !== "tool-1-2");
    for (const [at, part] of crashes.entries()) {
      const crash = Promise.withResolvers<void>();
      const now = () => Date.now() + at * MINUTE;
      f.openCrashable({ ...services, now }, ({ item, status }) => {
        if (item !== `#${part}` || status !== "done") return false;
        crash.resolve();
        return true;
      });
      await crash.promise;
    }
    f.openRunner({ ...services, now: () => Date.now() + crashes.length * MINUTE });
    await expect.poll(() => f.status(run.id)).toBe("succeeded");
    expect((await f.run(run.id)).output).toEqual(OUTPUT);
    // A crash while two calls run in parallel may interrupt the other one, which is then repeated.
    expect([...new Set(called)].toSorted()).toEqual(CALLED);
    expect(called.length).toBeLessThanOrEqual(CALLED.length + 1);
    expect(model.requests.map(({ calls }) => calls.length)).toEqual([0, 2, 3]);
  });

  it("retries a failed answer by default, and repeats nothing else", async (f) => {
    let failures = 0;
    const { services, called, model } = await prepare(f, (request, nth) => {
      if (request.calls.length !== 2 || failures > 0) return script(request, nth);
      failures += 1;
      return { status: 529, message: "Overloaded", headers: { "retry-after": "0" } };
    });
    const make = await f.publish([start, agent], edges("start > agent"));
    const run = await (await f.openRunner(services).start(make())).ended;
    expect(run).toMatchObject({ status: "succeeded", output: OUTPUT });
    expect(called.toSorted()).toEqual(CALLED);
    expect(model.requests.map(({ calls }) => calls.length)).toEqual([0, 2, 2, 3]);
  });

  it("fails when it reaches a limit", async (f) => {
    const { services } = await prepare(f);
    const limited = { ...agent, parameters: { ...agent.parameters, limits: { turns: 2 } } };
    const make = await f.publish([start, limited], edges("start > agent"));
    const run = await (await f.openRunner(services).start(make())).ended;
    expect(run).toMatchObject({ status: "failed", error: { code: "agent_turn_limit" } });
  });
}
