/**
 * Requests one answer of a model. The answer is streamed, because providers close long requests without
 * output, and is returned when it is complete. The API key is sent only in a header.
 */
import {
  MODEL_TIMEOUT,
  type ModelAnswer,
  type ModelRequest,
} from "@signalbox/rules/flows/agent/model.ts";
import { NodeError, Permanent } from "@signalbox/rules/flows/errors.ts";
import type { Timers } from "../kernel/lib/timers.ts";
import type { WebFetch } from "../kernel/lib/web-fetch.ts";
import { openModel } from "./language-models.ts";
import { toNodeError } from "./provider-errors.ts";
import { readAnswer } from "./read-answer.ts";
import { toFunctionTool, toPrompt } from "./to-prompt.ts";

export interface AskModelOptions {
  /** Fetches URLs of flows. Rejects private addresses, unless the operator allows them. */
  fetch: WebFetch;
  timers: Pick<Timers, "now" | "after">;
}

export type AskModel = (
  request: ModelRequest,
  signal: AbortSignal,
  /** Called right before the request is sent. If it throws, the request is not sent. */
  beforeSend?: () => void,
) => Promise<ModelAnswer>;

/** The Messages API requires a limit. Current models support at least this many tokens. */
const ANTHROPIC_OUTPUT_TOKENS = 16_384;

export const createAskModel =
  ({ fetch, timers }: AskModelOptions): AskModel =>
  async (request, signal, beforeSend) => {
    const { model, messages, tools, timeoutMs } = request;
    const timeout = new AbortController();
    const cancelTimer = timers.after(timeoutMs, () => timeout.abort());
    const maxOutputTokens = outputTokenLimit(request);
    try {
      const languageModel = await openModel(
        model,
        rejectWebPages((url, init) => fetch(url, { ...init, beforeSend })),
      );
      const { stream } = await languageModel.doStream({
        prompt: toPrompt(messages),
        tools: tools.map(toFunctionTool),
        abortSignal: AbortSignal.any([signal, timeout.signal]),
        ...(maxOutputTokens !== undefined && { maxOutputTokens }),
      });
      return await readAnswer(stream, JSON.stringify([messages, tools]).length);
    } catch (error) {
      if (signal.aborted) throw error;
      if (timeout.signal.aborted)
        throw new NodeError(`The model did not answer within ${Math.ceil(timeoutMs / 1000)} s.`, {
          code: MODEL_TIMEOUT,
        });
      throw toNodeError(error, timers.now());
    } finally {
      cancelTimer();
    }
  };

/** Throws if the server returns a web page, which would look like an answer that was cut off. */
const rejectWebPages =
  (fetch: WebFetch): WebFetch =>
  async (url, init) => {
    const response = await fetch(url, init);
    if (!response.ok || !/^text\/html\b/i.test(response.headers.get("content-type") ?? ""))
      return response;
    await response.body?.cancel();
    throw new Permanent(
      "model.baseUrl: the server returned a web page. Use the base URL of its API, such as https://api.example.com/v1.",
      { code: "model_not_an_api" },
    );
  };

function outputTokenLimit({ model, tokensLeft }: ModelRequest): number | undefined {
  const { provider, maxOutputTokens } = model;
  const limit = maxOutputTokens ?? (provider === "anthropic" ? ANTHROPIC_OUTPUT_TOKENS : undefined);
  return limit === undefined ? undefined : Math.min(limit, tokensLeft);
}
