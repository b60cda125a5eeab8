import { NodeError, Permanent, RetryAt } from "@signalbox/rules/flows/errors.ts";
import {
  defineNode,
  type NodeContext,
  type NodeResult,
  type Scope,
} from "@signalbox/rules/flows/node-type.ts";
import { testContext } from "@signalbox/rules/flows/test-context.ts";
import { testNode } from "@signalbox/rules/flows/test-flow.ts";
import type { JsonObject } from "@signalbox/rules/json.ts";
import { parseIfLarge } from "@signalbox/rules/large-json.ts";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import type { RunJob } from "../../kernel/jobs/job.ts";
import { MASK } from "../../kernel/lib/mask.ts";
import { attempt } from "./attempt.ts";
import { systemTimers } from "./contract/fixture.ts";
import { createRunBudget } from "./step-values.ts";

beforeEach(() => void vi.useFakeTimers({ now: 0 }));
afterEach(() => void vi.useRealTimers());

type Run = (context: NodeContext<JsonObject>) => NodeResult | Promise<NodeResult>;

/** Makes one attempt at a node whose field `header` may contain secrets. */
function attemptOnce(
  run: Run,
  parameters: JsonObject = {},
  options: { signal?: AbortSignal; scope?: Scope; runJob?: RunJob; maxRunBytes?: number } = {},
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
    sample: { config: {}, rejects: { config: { x: 1 }, path: "x" } },
    run: (context) => run(context as NodeContext<JsonObject>),
  });
  const { config: _config, signal: _signal, scope: _scope, ...context } = testContext();
  return attempt({
    tenant: "acme",
    lane: undefined,
    runJob: options.runJob ?? (() => expect.unreachable()),
    budget: createRunBudget(options.maxRunBytes ?? Infinity, 0),
    node: testNode("Test", "a", parameters),
    definition,
    scope: options.scope ?? { nodes: {} },
    context: () => context,
    record: ({ work }) => work(),
    callTool: context.callTool,
    listTools: context.listTools,
    onProgress: () => {},
    signal: options.signal ?? new AbortController().signal,
    loadSecrets: async (names) => {
      if (names.includes("NONE")) throw new Permanent("There is no secret NONE.");
      return Object.fromEntries(names.map((name) => [name, `${name}-s3cret`]));
    },
    loadFlowSecrets: async () => ["a-s3cret-of-another-step"],
    timers: systemTimers(),
    defaultTimeoutMs: 1_000,
  });
}

test("renders the templates and records the config", async () => {
  const attempted = await attemptOnce(
    ({ config }) => ({ output: config }),
    { text: "{{ a.x }}", settings: { timeoutMs: 5 } },
    { scope: { nodes: { a: { x: "hi" } } } },
  );
  expect(attempted).toMatchObject({ input: { text: "hi" }, result: { output: { text: "hi" } } });
});

test("fails before the node runs if the config is too large for the step or the run", async () => {
  const run = vi.fn(() => ({ output: 1 }));
  const text = "{{ a }}";
  for (const [length, maxRunBytes, code] of [
    [16_000_001, Infinity, "input_too_large"],
    [10_001, 10_000, "run_too_large"],
  ] as const) {
    const scope = { nodes: { a: "x".repeat(length) } };
    expect(await attemptOnce(run, { text }, { scope, maxRunBytes })).toMatchObject({
      input: null,
      error: { code, node_id: "a" },
      retryAt: "never",
    });
  }
  expect(run).not.toHaveBeenCalled();
});

describe("errors", () => {
  const attemptThatThrows = (error: unknown) =>
    attemptOnce(() => {
      throw error;
    });

  test("are retried with backoff, unless they are Permanent or RetryAt", async () => {
    expect(await attemptThatThrows(new Error("no"))).toMatchObject({
      error: { code: "failed", message: "no", node_id: "a" },
      retryAt: "backoff",
    });
    expect(
      await attemptThatThrows(new NodeError("busy", { code: "y", details: [2] })),
    ).toMatchObject({
      error: { code: "y", message: "busy", details: [2] },
      retryAt: "backoff",
    });
    expect(
      await attemptThatThrows(new Permanent("never", { code: "x", details: [1] })),
    ).toMatchObject({
      error: { code: "x", message: "never", details: [1] },
      retryAt: "never",
    });
    expect(await attemptThatThrows(new RetryAt(77, "later"))).toMatchObject({
      error: { code: "retry_at", message: "later" },
      retryAt: 77,
    });
  });

  test("have a message, even if the thrown value is not an Error", async () => {
    for (const [thrown, message] of [
      [null, "null"],
      [undefined, "undefined"],
      ["oops", "oops"],
      [{ code: "ECONNRESET", message: "reset" }, "reset"],
    ])
      expect(await attemptThatThrows(thrown)).toMatchObject({
        error: { message },
        retryAt: "backoff",
      });
  });

  test("in the config name the field and are not retried", async () => {
    expect(await attemptOnce(() => ({ output: 1 }), { text: "{{ gone.x }}" })).toMatchObject({
      error: {
        code: "unresolved_reference",
        message: expect.stringContaining("text: {{ gone.x }}"),
      },
      retryAt: "never",
    });
    expect(await attemptOnce(() => ({ output: 1 }), { count: "two" })).toMatchObject({
      error: { code: "invalid_config", message: expect.stringContaining("count") },
      retryAt: "never",
    });
  });
});

describe("the time limit", () => {
  test("ends the attempt, even if the node ignores its signal", async () => {
    let reason: unknown;
    const attempted = attemptOnce(
      ({ signal }) => {
        signal.addEventListener("abort", () => {
          reason = signal.reason;
        });
        return new Promise(() => {});
      },
      { settings: { timeoutMs: 50 } },
    );
    await vi.advanceTimersByTimeAsync(50);
    expect(await attempted).toMatchObject({
      error: {
        code: "timeout",
        message:
          "The step exceeds the time limit of 50 ms. Raise timeoutMs in the settings of its node.",
        node_id: "a",
      },
      retryAt: "backoff",
    });
    expect(reason).toBeInstanceOf(Error);
  });

  test("is the reported error, even if the node then throws another error", async () => {
    const attempted = attemptOnce(
      ({ signal }) =>
        new Promise((_, reject) => {
          signal.addEventListener("abort", () => reject(new Permanent("fetch failed")));
        }),
    );
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await attempted).toMatchObject({ error: { code: "timeout" }, retryAt: "backoff" });
  });

  test("has no timer after the node has ended", async () => {
    await attemptOnce(() => ({ output: 1 }));
    expect(vi.getTimerCount()).toBe(0);
  });

  const code = { job: "javascript", code: "", data: {}, timeoutMs: 1, memoryMb: 1 } as const;
  const evaluateCode: Run = async ({ evaluate }) => {
    const evaluated = await evaluate(code);
    return { output: "output" in evaluated ? parseIfLarge(evaluated.output) : null };
  };
  const createQueue = () => {
    const called = Promise.withResolvers<Parameters<RunJob>[1]>();
    const result = Promise.withResolvers<Awaited<ReturnType<RunJob>>>();
    const runJob: RunJob = (_, options) => {
      called.resolve(options);
      options.signal.addEventListener("abort", () => result.reject(options.signal.reason));
      return result.promise;
    };
    return { runJob, called: called.promise, finish: result.resolve };
  };

  test("does not run while code is queued, and restarts when the code starts", async () => {
    for (const isQuick of [true, false]) {
      const { runJob, called, finish } = createQueue();
      const attempted = attemptOnce(evaluateCode, {}, { runJob });
      const { tenant, onQueued } = await called;
      expect(tenant).toBe("acme");
      const onStart = onQueued?.();
      await vi.advanceTimersByTimeAsync(60_000);
      onStart?.();
      await vi.advanceTimersByTimeAsync(isQuick ? 999 : 1_000);
      finish({ log: [], output: 7 });
      expect(await attempted).toMatchObject(
        isQuick ? { result: { output: 7 } } : { error: { code: "timeout" } },
      );
      expect(vi.getTimerCount()).toBe(0);
    }
  });

  test("ends queued code when the run ends", async () => {
    const runController = new AbortController();
    const { runJob, called } = createQueue();
    const attempted = attemptOnce(evaluateCode, {}, { runJob, signal: runController.signal });
    const { signal, onQueued } = await called;
    onQueued?.();
    runController.abort();
    expect(signal.aborted).toBe(true);
    expect(await attempted).toMatchObject({ error: { message: "The run has ended." } });
    expect(vi.getTimerCount()).toBe(0);
  });

  test("ends the attempt when the run ends", async () => {
    const runController = new AbortController();
    const attempted = attemptOnce(
      () => new Promise(() => {}),
      {},
      { signal: runController.signal },
    );
    runController.abort();
    expect(await attempted).toMatchObject({ error: { message: "The run has ended." } });
    expect(
      await attemptOnce(() => new Promise(() => {}), {}, { signal: runController.signal }),
    ).toMatchObject({
      error: { message: "The run has ended." },
    });
  });
});

describe("secrets", () => {
  test("are passed to the node in allowed fields, and masked in its record", async () => {
    let header: unknown;
    const attempted = await attemptOnce(
      ({ config }) => {
        header = config.header;
        return { output: { echo: `got ${config.header}` } };
      },
      { header: "Bearer {{ secrets.KEY }}" },
    );
    expect(header).toBe("Bearer KEY-s3cret");
    expect(attempted.input).toEqual({ header: `Bearer ${MASK}` });
    expect(attempted.mask.json({ echo: "got Bearer KEY-s3cret" })).toEqual({
      echo: `got Bearer ${MASK}`,
    });
  });

  test("are masked in errors and log lines", async () => {
    const attempted = await attemptOnce(
      ({ config, log }) => {
        log({ level: "info", text: `sending ${config.header}` });
        throw new Permanent(`401 for ${config.header}`, { details: { sent: config.header ?? "" } });
      },
      { header: "{{ secrets.KEY }}" },
    );
    expect(attempted).toMatchObject({
      error: { message: `401 for ${MASK}`, details: { sent: MASK } },
      log: [{ level: "info", text: `sending ${MASK}` }],
    });
  });

  test("of other steps are masked too", async () => {
    const attempted = await attemptOnce(() => ({ output: null }), {
      text: "a-s3cret-of-another-step",
    });
    expect(attempted.input).toEqual({ text: MASK });
    expect(attempted.mask.json("got a-s3cret-of-another-step")).toBe(`got ${MASK}`);
  });

  test("are rejected in other fields before the node runs", async () => {
    const run = vi.fn(() => ({ output: 1 }));
    expect(await attemptOnce(run, { text: "{{ secrets.KEY }}" })).toMatchObject({
      error: {
        code: "secret_not_allowed",
        message: "text: secrets are not allowed in this field.",
      },
      retryAt: "never",
    });
    expect(run).not.toHaveBeenCalled();
  });

  test("that do not exist cause an error", async () => {
    expect(
      await attemptOnce(() => ({ output: 1 }), { header: "{{ secrets.NONE }}" }),
    ).toMatchObject({
      error: { message: "There is no secret NONE." },
      retryAt: "never",
    });
  });
});
