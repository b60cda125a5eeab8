/** Tests `Agent` nodes with a fake provider: no completed turn is repeated, on any store and host. */
import { expect } from "vitest";
import { createFakeModel, type ModelScript } from "../../../../../../test/support/model-wire.ts";
import { createAskModel } from "../../../agents/ask-model.ts";
import { newNonce } from "../../../agents/nonce.ts";
import {
  sampleConnection,
  sampleOffers,
} from "../../../connections/store/contract/connection-sample.ts";
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
  const call = (n: number) => ({ tool, arguments: { n } });
  if (calls.length === 0) return { text: "First.", calls: [call(1), call(2)] };
  if (calls.length === 2) return { text: "Second.", calls: [call(3)] };
  return { calls: [{ tool: "submit_result", arguments: { total: calls.length } }] };
};
const OUTPUT = {
  text: "",
  result: { total: 3 },
  turns: 3,
  usage: { input_tokens: 300, output_tokens: 60 },
};

async function prepare(fixture: Fixture, modelScript = script) {
  const model = createFakeModel(modelScript);
  const toolCalls: string[] = [];
  await fixture.store.createConnection(sampleConnection({ tenant: TENANT }), 1);
  return {
    model,
    toolCalls,
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
          toolCalls.push(`${call.arguments.n} ${idempotencyKey.split(":").slice(1).join(":")}`);
          return { isError: false, content: [{ type: "text", text: "ok" }] };
        },
      },
    },
  };
}

const TOOL_CALLS = ["1 agent:tool-1-1", "2 agent:tool-1-2", "3 agent:tool-2-1"];
const PARTS = ["prompt", "turn-1", "tool-1-1", "tool-1-2", "turn-2", "tool-2-1", "turn-3"];

export function agentsContract(it: It): void {
  it("records its prompt, each answer and each tool call", async (fixture) => {
    const { services, toolCalls } = await prepare(fixture);
    const createRun = await fixture.publish([start, agent], edges("start > agent"));
    const run = await (await fixture.openRunner(services).start(createRun())).ended;
    expect(run).toMatchObject({ status: "succeeded", output: OUTPUT });
    expect(toolCalls.toSorted()).toEqual(TOOL_CALLS);
    expect(await fixture.steps(run.id)).toEqual([
      "start done",
      "agent done",
      ...PARTS.map((part) => `agent@#${part} done`),
    ]);
  });

  it("repeats no recorded answer and no recorded tool call, although a worker crashes after each part", async (fixture) => {
    const { services, toolCalls, model } = await prepare(fixture);
    const createRun = await fixture.publish([start, agent], edges("start > agent"));
    const run = createRun();
    await fixture.store.queueRuns([run]);
    // The two calls of a turn may be saved together.
    const crashes = PARTS.filter((part) => part !== "tool-1-2");
    for (const [index, part] of crashes.entries()) {
      const crash = Promise.withResolvers<void>();
      const now = () => Date.now() + index * MINUTE;
      fixture.openCrashable({ ...services, now }, ({ item, status }) => {
        if (item !== `#${part}` || status !== "done") return false;
        crash.resolve();
        return true;
      });
      await crash.promise;
    }
    fixture.openRunner({ ...services, now: () => Date.now() + crashes.length * MINUTE });
    await expect.poll(() => fixture.status(run.id)).toBe("succeeded");
    expect((await fixture.run(run.id)).output).toEqual(OUTPUT);
    // If a worker crashes while two calls run in parallel, the unrecorded call is repeated.
    expect([...new Set(toolCalls)].toSorted()).toEqual(TOOL_CALLS);
    expect(toolCalls.length).toBeLessThanOrEqual(TOOL_CALLS.length + 1);
    expect(model.requests.map(({ calls }) => calls.length)).toEqual([0, 2, 3]);
  });

  it("retries a failed answer by default, and repeats nothing else", async (fixture) => {
    let failures = 0;
    const { services, toolCalls, model } = await prepare(fixture, (request, requestNumber) => {
      if (request.calls.length !== 2 || failures > 0) return script(request, requestNumber);
      failures += 1;
      return { status: 529, message: "Overloaded", headers: { "retry-after": "0" } };
    });
    const createRun = await fixture.publish([start, agent], edges("start > agent"));
    const run = await (await fixture.openRunner(services).start(createRun())).ended;
    expect(run).toMatchObject({ status: "succeeded", output: OUTPUT });
    expect(toolCalls.toSorted()).toEqual(TOOL_CALLS);
    expect(model.requests.map(({ calls }) => calls.length)).toEqual([0, 2, 2, 3]);
  });

  it("fails when it reaches a limit", async (fixture) => {
    const { services } = await prepare(fixture);
    const limited = { ...agent, parameters: { ...agent.parameters, limits: { turns: 2 } } };
    const createRun = await fixture.publish([start, limited], edges("start > agent"));
    const run = await (await fixture.openRunner(services).start(createRun())).ended;
    expect(run).toMatchObject({ status: "failed", error: { code: "agent_turn_limit" } });
  });
}
