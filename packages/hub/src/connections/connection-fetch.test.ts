import { describe, expect, it } from "vitest";
import { createConnectionFetch } from "./connection-fetch.ts";
import { createExchanges } from "./exchange.ts";
import { MAX_ANSWER_BYTES, MAX_OTHER_BYTES } from "./limits.ts";

/** Reads a response of this size to a request that belongs to no call. */
async function readResponse(bytes: number, init: RequestInit): Promise<number> {
  const fetch = createConnectionFetch({
    fetch: async () => new Response("x".repeat(bytes)),
    exchanges: createExchanges(),
    credentials: {},
    echoes: { add() {} },
    tokens: undefined,
    identity: async () => "jwt",
    usesNotifications: () => true,
  });
  const response = await fetch("https://weather.example/mcp", init);
  return (await response.text()).length;
}

describe("the limit of a response that belongs to no call", () => {
  it.each([
    ["a stream of notifications", {}],
    ["a resumed stream, which may contain the answer of a call", { "last-event-id": "7" }],
  ])("is the limit of answers for %s", async (_, headers) => {
    const init = { method: "GET", headers };
    expect(await readResponse(MAX_ANSWER_BYTES, init)).toBe(MAX_ANSWER_BYTES);
    await expect(readResponse(MAX_ANSWER_BYTES + 1, init)).rejects.toThrow("8 MiB");
  });

  it("is lower for POST, such as the handshake", async () => {
    const init = { method: "POST" };
    expect(await readResponse(MAX_OTHER_BYTES, init)).toBe(MAX_OTHER_BYTES);
    await expect(readResponse(MAX_OTHER_BYTES + 1, init)).rejects.toThrow("1 MiB");
  });
});
