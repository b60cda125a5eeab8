/** Tests what requests to models guarantee on every host, with the wire formats of the providers. */
import type { ModelRequest } from "@signalbox/rules/flows/agent/model.ts";
import { describe, expect, test } from "vitest";
import {
  createFakeModel,
  type ModelScript,
  type Reply,
  WIRE_NAMES,
  type WireName,
} from "../../../../test/support/model-wire.ts";
import { createAskModel } from "./ask-model.ts";

const NOW = 1_000_000;
const KEY = "sk-very-secret";

const timers = {
  now: () => NOW,
  after(ms: number, work: () => void) {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
};

const request = (
  provider: WireName,
  overrides: Partial<ModelRequest> = {},
  baseUrl = "https://model.test/v1",
): ModelRequest => ({
  model: { provider, name: "fake", baseUrl, apiKey: KEY },
  messages: [
    { role: "system", text: "Help." },
    { role: "user", text: "Label it." },
  ],
  tools: [
    {
      name: "tracker__label",
      description: "Labels.",
      inputSchema: { type: "object", properties: { name: { type: "string" } } },
    },
  ],
  tokensLeft: 100_000,
  timeoutMs: 60_000,
  ...overrides,
});

export function modelContract(): void {
  describe.each(WIRE_NAMES)("a model of the provider %s", (provider) => {
    const ask = (script: ModelScript | Reply, overrides: Partial<ModelRequest> = {}) => {
      const fake = createFakeModel(typeof script === "function" ? script : () => script);
      const askModel = createAskModel({ fetch: fake.fetch, timers });
      const answer = askModel(request(provider, overrides), new AbortController().signal);
      return Object.assign(answer, { requests: fake.requests });
    };

    test("gets the messages and the tools, and the key only in a header", async () => {
      const answer = ask({ text: "Done." });
      expect(await answer).toEqual({
        text: "Done.",
        calls: [],
        finish: "stop",
        usage: { input_tokens: 100, output_tokens: 20 },
      });
      const [sent] = answer.requests;
      expect(sent).toMatchObject({
        system: "Help.",
        messages: [{ role: "user", text: "Label it." }],
        tools: ["tracker__label"],
      });
      const header = provider === "anthropic" ? "x-api-key" : "authorization";
      expect(sent?.headers.get(header)).toContain(KEY);
      expect(JSON.stringify(sent?.body)).not.toContain(KEY);
    });

    test("calls tools, even if text and arguments arrive in several parts of the stream", async () => {
      const calls = [
        { tool: "tracker__label", arguments: { name: "bug", more: ["é", "😀"] } },
        { tool: "tracker__label", arguments: {} },
      ];
      expect(await ask({ text: "I label it.", calls })).toMatchObject({
        text: "I label it.",
        calls: calls.map(({ tool, arguments: args }) => ({
          id: expect.stringMatching(/./),
          tool,
          arguments: args,
        })),
        finish: "stop",
      });
    });

    test("gets the results of its calls", async () => {
      const answer = ask(
        { text: "Done." },
        {
          messages: [
            { role: "system", text: "Help." },
            { role: "user", text: "Label it." },
            {
              role: "assistant",
              text: "",
              calls: [
                { id: "a", tool: "tracker__label", arguments: { name: "bug" } },
                { id: "b", tool: "tracker__label", arguments: {} },
              ],
            },
            {
              role: "tool",
              results: [
                { id: "a", tool: "tracker__label", text: "added", isError: false },
                { id: "b", tool: "tracker__label", text: "no name", isError: true },
              ],
            },
          ],
        },
      );
      await answer;
      const [sent] = answer.requests;
      expect(sent?.calls).toEqual(["tracker__label", "tracker__label"]);
      const texts = sent?.messages.slice(2).map(({ text }) => text);
      expect(texts?.join("")).toBe("addedno name");
    });

    test("reports arguments that are not a JSON object", async () => {
      const { calls } = await ask({ calls: [{ tool: "tracker__label", arguments: '{"name": ' }] });
      expect(calls).toMatchObject([
        {
          arguments: {},
          problem: expect.stringContaining('must be a JSON object, but were: {"na'),
        },
      ]);
    });

    test("reports that its answer was cut off at the output limit", async () => {
      expect(await ask({ text: "One, ", isCutOff: true })).toMatchObject({ finish: "length" });
    });

    test.each([1, 3, 4])("is retried if its stream ends after %i events", async (endsAfter) => {
      const reply = { text: "Half of it.", calls: [{ tool: "tracker__label", arguments: {} }] };
      await expect(ask({ ...reply, endsAfter })).rejects.toMatchObject({
        code: "model_stream_cut",
        name: "Error",
      });
    });

    test("is retried if it reports an error in its stream, with the provider's message", async () => {
      const streamError = { type: "overloaded_error", message: "Overloaded" };
      for (const endsAfter of [0, 4])
        await expect(ask({ text: "Half of it.", endsAfter, streamError })).rejects.toMatchObject({
          name: "Error",
          code: expect.stringMatching(/^model_/),
          message: expect.stringContaining("Overloaded"),
        });
    });

    test("is not retried if its base URL returns a web page", async () => {
      const fetchPage: typeof fetch = async () =>
        new Response("<html>", { headers: { "content-type": "text/html; charset=utf-8" } });
      const askModel = createAskModel({ fetch: fetchPage, timers });
      await expect(askModel(request(provider), new AbortController().signal)).rejects.toMatchObject(
        {
          name: "Permanent",
          message: expect.stringMatching(/^model\.baseUrl: .* web page/),
        },
      );
    });

    test("is retried at the time that the provider names, if the rate limit is reached", async () => {
      const limited = { status: 429, message: "Slow down", headers: { "retry-after": "30" } };
      await expect(ask(limited)).rejects.toMatchObject({
        name: "RetryAt",
        at: NOW + 30_000,
        code: "model_http_429",
        message: expect.stringContaining("Slow down"),
      });
    });

    test.each([429, 500, 502, 503, 529])(
      "is retried with backoff after status %i",
      async (status) => {
        const error = ask({ status, type: "overloaded_error", message: "Overloaded" });
        await expect(error).rejects.toMatchObject({
          name: "Error",
          code: `model_http_${status}`,
          message: `The model's provider returned ${status}: Overloaded`,
        });
      },
    );

    test.each([
      [400, "max_tokens: too large", ""],
      [401, "invalid x-api-key", "Check the secret in model.apiKey."],
      [404, "no such model", "Check model.name and model.baseUrl."],
    ])(
      "fails permanently after status %i, with the provider's message and the fix",
      async (status, message, fix) => {
        await expect(ask({ status, message })).rejects.toMatchObject({
          name: "Permanent",
          message: expect.stringContaining(`${status}: ${message}. ${fix}`.trim()),
        });
      },
    );

    test("fails permanently if its quota is used up", async () => {
      const error = { status: 429, type: "insufficient_quota", message: "No quota" };
      await expect(ask(error)).rejects.toMatchObject({ name: "Permanent" });
    });

    test("fails if it does not answer within the time limit", async () => {
      const never = () => new Promise<never>(() => {});
      const fake = createFakeModel(never);
      const stallingFetch: typeof fetch = (input, init) =>
        Promise.race([
          fake.fetch(input as string, init),
          new Promise<never>((_, reject) => {
            init?.signal?.addEventListener("abort", () => reject(init.signal?.reason));
          }),
        ]);
      const askModel = createAskModel({ fetch: stallingFetch, timers });
      await expect(
        askModel(request(provider, { timeoutMs: 20 }), new AbortController().signal),
      ).rejects.toMatchObject({ code: "model_timeout" });
    });

    test("stops when the run ends", async () => {
      const run = new AbortController();
      const reason = new Error("The run has ended.");
      const stallingFetch: typeof fetch = async (_, init) => {
        run.abort(reason);
        throw init?.signal?.reason;
      };
      const askModel = createAskModel({ fetch: stallingFetch, timers });
      await expect(askModel(request(provider), run.signal)).rejects.toBe(reason);
    });
  });

  test("calls `beforeSend` before it sends a request, and does not send if that throws", async () => {
    const fake = createFakeModel(() => ({ text: "Done." }));
    const askModel = createAskModel({
      fetch(url, init) {
        init?.beforeSend?.();
        return fake.fetch(url, init);
      },
      timers,
    });
    const { signal } = new AbortController();
    let isStale = false;
    const beforeSend = () => {
      if (isStale) throw new Error("the lease has expired");
    };
    await askModel(request("openai"), signal, beforeSend);
    isStale = true;
    await expect(askModel(request("openai"), signal, beforeSend)).rejects.toThrow();
    expect(fake.requests).toHaveLength(1);
  });

  test("sends reasoning back with its signature, which the provider requires", async () => {
    const fake = createFakeModel(() => ({
      thinking: "Let me see.",
      calls: [{ tool: "tracker__label", arguments: {} }],
    }));
    const askModel = createAskModel({ fetch: fake.fetch, timers });
    const { signal } = new AbortController();
    const first = request("anthropic");
    const { text, calls, reasoning = [] } = await askModel(first, signal);
    expect(reasoning).toMatchObject([{ text: "Let me see." }]);
    const results = calls.map(({ id, tool }) => ({ id, tool, text: "ok", isError: false }));
    // After a crash, the recorded answer is read from JSON.
    const recorded = JSON.parse(JSON.stringify(reasoning));
    const messages = [
      ...first.messages,
      { role: "assistant" as const, text, calls, reasoning: recorded },
      { role: "tool" as const, results },
    ];
    await askModel({ ...first, messages }, signal);
    const sent = fake.requests[1]?.body.messages as { content: object[] }[];
    expect(sent[1]?.content).toMatchObject([
      { type: "thinking", thinking: "Let me see.", signature: "signed Let me see." },
      { type: "tool_use" },
    ]);
  });

  test("limits the output tokens to the remaining budget", async () => {
    const fake = createFakeModel(() => ({ text: "ok" }));
    const askModel = createAskModel({ fetch: fake.fetch, timers });
    const { signal } = new AbortController();
    for (const tokensLeft of [500, 100_000])
      await askModel(request("anthropic", { tokensLeft }), signal);
    await askModel(request("openai"), signal);
    expect(fake.requests.map(({ body }) => body.max_tokens)).toEqual([500, 16_384, undefined]);
  });
}
