import { NodeError, Permanent, RetryAt } from "@signalbox/rules/flows/errors.ts";
import type { Evaluate } from "@signalbox/rules/flows/evaluation.ts";
import { defineNode, type NodeContext, type NodeResult } from "@signalbox/rules/flows/node-type.ts";
import type { Scope } from "@signalbox/rules/flows/render.ts";
import { testContext } from "@signalbox/rules/flows/test-context.ts";
import { testNode } from "@signalbox/rules/flows/test-flow.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { attempt } from "./attempt.ts";
import { systemTimers } from "./contract/fixture.ts";
import { MASK } from "./mask.ts";

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => void vi.useRealTimers());

type Run = (context: NodeContext<JsonObject>) => NodeResult | Promise<NodeResult>;

/** One attempt at a node whose field `header` may hold secrets. */
function tryOnce(
  run: Run,
  parameters: JsonObject = {},
  given: { signal?: AbortSignal; scope?: Scope; evaluate?: Evaluate } = {},
) {
  const definition = defineNode({
    type: "Test",
    title: "Test",
    description: "",
    icon: "Eye",
    kind: "action",
    config: z.strictObject({
      text: z.string().optional(),
      header: z.string().optional(),
      count: z.int().optional(),
    }),
    secretFields: ["header"],
    ports: { in: ["in"], out: ["out"] },
    sample: { config: {}, refuses: { config: { x: 1 }, path: "x" } },
    run: (context) => run(context as NodeContext<JsonObject>),
  });
  const { config: _config, signal: _signal, scope: _scope, ...context } = testContext();
  return attempt({
    tenant: "acme",
    evaluate: given.evaluate ?? context.evaluate,
    node: testNode("Test", "a", parameters),
    definition,
    scope: given.scope ?? { nodes: {} },
    context,
    signal: given.signal ?? new AbortController().signal,
    secrets: async (names) => {
      if (names.includes("NONE")) throw new Permanent("There is no secret NONE.");
      return Object.fromEntries(names.map((name) => [name, `${name}-s3cret`]));
    },
    flowSecrets: async () => ["a-s3cret-of-another-step"],
    timers: systemTimers(),
    defaultTimeoutMs: 1_000,
  });
}

test("fills in the templates, and records what the node was given", async () => {
  const tried = await tryOnce(
    ({ config }) => ({ output: config }),
    { text: "{{ a.x }}", settings: { timeoutMs: 5 } },
    { scope: { nodes: { a: { x: "hi" } } } },
  );
  expect(tried).toMatchObject({ input: { text: "hi" }, result: { output: { text: "hi" } } });
});

describe("what goes wrong", () => {
  const failing = (error: unknown) =>
    tryOnce(() => {
      throw error;
    });

  test("follows the retry settings, unless it says otherwise", async () => {
    expect(await failing(new Error("no"))).toMatchObject({
      error: { code: "failed", message: "no", node_id: "a" },
      retryAt: "backoff",
    });
    expect(await failing(new NodeError("busy", { code: "y", details: [2] }))).toMatchObject({
      error: { code: "y", message: "busy", details: [2] },
      retryAt: "backoff",
    });
    expect(await failing(new Permanent("never", { code: "x", details: [1] }))).toMatchObject({
      error: { code: "x", message: "never", details: [1] },
      retryAt: "never",
    });
    expect(await failing(new RetryAt(77, "later"))).toMatchObject({
      error: { code: "retry_at", message: "later" },
      retryAt: 77,
    });
  });

  test("is told in words, whatever was thrown", async () => {
    for (const [thrown, message] of [
      [null, "null"],
      [undefined, "undefined"],
      ["oops", "oops"],
      [{ code: "ECONNRESET", message: "reset" }, "reset"],
    ])
      expect(await failing(thrown)).toMatchObject({ error: { message }, retryAt: "backoff" });
  });

  test("in the config is final, and names the field", async () => {
    expect(await tryOnce(() => ({ output: 1 }), { text: "{{ gone.x }}" })).toMatchObject({
      error: {
        code: "unresolved_reference",
        message: expect.stringContaining("text: {{ gone.x }}"),
      },
      retryAt: "never",
    });
    expect(await tryOnce(() => ({ output: 1 }), { count: "two" })).toMatchObject({
      error: { code: "invalid_config", message: expect.stringContaining("count") },
      retryAt: "never",
    });
  });
});

describe("time", () => {
  test("that is up ends the attempt, also of a node that does not listen", async () => {
    let heard: unknown;
    const tried = tryOnce(
      ({ signal }) => {
        signal.addEventListener("abort", () => {
          heard = signal.reason;
        });
        return new Promise(() => {});
      },
      { settings: { timeoutMs: 50 } },
    );
    await vi.advanceTimersByTimeAsync(50);
    expect(await tried).toMatchObject({
      error: { code: "timeout", message: "took longer than 50 ms", node_id: "a" },
      retryAt: "backoff",
    });
    expect(heard).toBeInstanceOf(Error);
  });

  test("is the reason, whatever the node makes of it", async () => {
    const tried = tryOnce(
      ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(new Permanent("fetch failed")));
        }),
    );
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await tried).toMatchObject({ error: { code: "timeout" }, retryAt: "backoff" });
  });

  test("of a node that is done runs no longer", async () => {
    await tryOnce(() => ({ output: 1 }));
    expect(vi.getTimerCount()).toBe(0);
  });

  const code = { language: "javascript", code: "", data: {}, timeoutMs: 1, memoryMb: 1 } as const;
  const evaluating: Run = async ({ evaluate }) => {
    const evaluated = await evaluate(code);
    return { output: "output" in evaluated ? evaluated.output : null };
  };
  const queue = () => {
    const asked = Promise.withResolvers<Parameters<Evaluate>[1]>();
    const answer = Promise.withResolvers<Awaited<ReturnType<Evaluate>>>();
    const evaluate: Evaluate = (_, asker) => {
      asked.resolve(asker);
      asker.signal.addEventListener("abort", () => answer.reject(asker.signal.reason));
      return answer.promise;
    };
    return { evaluate, asked: asked.promise, answer: answer.resolve };
  };

  test("does not run while code waits for its turn, but does from then on", async () => {
    for (const isQuick of [true, false]) {
      const { evaluate, asked, answer } = queue();
      const tried = tryOnce(evaluating, {}, { evaluate });
      const { tenant, hold } = await asked;
      expect(tenant).toBe("acme");
      const begin = hold?.();
      await vi.advanceTimersByTimeAsync(60_000);
      begin?.();
      await vi.advanceTimersByTimeAsync(isQuick ? 999 : 1_000);
      answer({ log: [], output: 7 });
      expect(await tried).toMatchObject(
        isQuick ? { result: { output: 7 } } : { error: { code: "timeout" } },
      );
      expect(vi.getTimerCount()).toBe(0);
    }
  });

  test("of code that waits for its turn ends with the run", async () => {
    const run = new AbortController();
    const { evaluate, asked } = queue();
    const tried = tryOnce(evaluating, {}, { evaluate, signal: run.signal });
    const { signal, hold } = await asked;
    hold?.();
    run.abort();
    expect(signal.aborted).toBe(true);
    expect(await tried).toMatchObject({ error: { message: "The run has ended." } });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("ends with the run", async () => {
    const run = new AbortController();
    const tried = tryOnce(() => new Promise(() => {}), {}, { signal: run.signal });
    run.abort();
    expect(await tried).toMatchObject({ error: { message: "The run has ended." } });
    expect(await tryOnce(() => new Promise(() => {}), {}, { signal: run.signal })).toMatchObject({
      error: { message: "The run has ended." },
    });
  });
});

describe("secrets", () => {
  test("reach the node where they may stand, and no record", async () => {
    let seen: unknown;
    const tried = await tryOnce(
      ({ config }) => {
        seen = config.header;
        return { output: { echo: `got ${config.header}` } };
      },
      { header: "Bearer {{ secrets.KEY }}" },
    );
    expect(seen).toBe("Bearer KEY-s3cret");
    expect(tried.input).toEqual({ header: `Bearer ${MASK}` });
    expect(tried.mask.json({ echo: "got Bearer KEY-s3cret" })).toEqual({
      echo: `got Bearer ${MASK}`,
    });
  });

  test("are masked in errors, and in what was logged before", async () => {
    const tried = await tryOnce(
      ({ config, log }) => {
        log({ level: "info", text: `sending ${config.header}` });
        throw new Permanent(`401 for ${config.header}`, { details: { sent: config.header ?? "" } });
      },
      { header: "{{ secrets.KEY }}" },
    );
    expect(tried).toMatchObject({
      error: { message: `401 for ${MASK}`, details: { sent: MASK } },
      log: [{ level: "info", text: `sending ${MASK}` }],
    });
  });

  test("that another step has sent are masked where they come back", async () => {
    const tried = await tryOnce(() => ({ output: null }), { text: "a-s3cret-of-another-step" });
    expect(tried.input).toEqual({ text: MASK });
    expect(tried.mask.json("got a-s3cret-of-another-step")).toBe(`got ${MASK}`);
  });

  test("are refused anywhere else, before the node runs", async () => {
    const run = vi.fn(() => ({ output: 1 }));
    expect(await tryOnce(run, { text: "{{ secrets.KEY }}" })).toMatchObject({
      error: { code: "secret_not_allowed", message: "text: secrets may not be used here." },
      retryAt: "never",
    });
    expect(run).not.toHaveBeenCalled();
  });

  test("that are not there are an error in words", async () => {
    expect(await tryOnce(() => ({ output: 1 }), { header: "{{ secrets.NONE }}" })).toMatchObject({
      error: { message: "There is no secret NONE." },
      retryAt: "never",
    });
  });
});
