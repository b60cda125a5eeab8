/**
 * Opens models of the providers. Their libraries are loaded on first use, as most hubs run no
 * agents.
 */
import type { LanguageModelV4 } from "@ai-sdk/provider";
import type { ModelChoice } from "@signalbox/rules/flows/agent/model.ts";
import type { WebFetch } from "../kernel/lib/web-fetch.ts";

export type OpenModel = (choice: ModelChoice, fetch: WebFetch) => Promise<LanguageModelV4>;

/** Without a key, the library would read one from the environment. */
const NO_KEY = "none";

const PROVIDERS: Record<ModelChoice["provider"], OpenModel> = {
  async anthropic({ name, baseUrl = "https://api.anthropic.com/v1", apiKey = NO_KEY }, fetch) {
    const { createAnthropic } = await import("@ai-sdk/anthropic");
    return createAnthropic({ baseURL: baseUrl, apiKey, fetch })(name);
  },
  async openai({ name, baseUrl = "https://api.openai.com/v1", apiKey }, fetch) {
    const { createOpenAICompatible } = await import("@ai-sdk/openai-compatible");
    return createOpenAICompatible({
      name: "openai",
      baseURL: baseUrl,
      ...(apiKey !== undefined && { apiKey }),
      fetch,
      includeUsage: true,
    })(name);
  },
};

export const openModel: OpenModel = (choice, fetch) => PROVIDERS[choice.provider](choice, fetch);
