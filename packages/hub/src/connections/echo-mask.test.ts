import { describe, expect, it } from "vitest";
import { ConnectionError } from "./connection-error.ts";
import { createEchoMask } from "./echo-mask.ts";

describe("the values that are masked", () => {
  it.each([
    [{ auth: { type: "bearer", token: "hunter2" } }, "wrong token hunter2", "wrong token •••"],
    [{ headers: { "x-key": "key-of-mine" } }, "key-of-mine", "•••"],
    [{ headers: { "x-auth": "Token abc-def-123" } }, "no abc-def-123", "no •••"],
    [{ headers: { cookie: "a=1; session=abc-def-123" } }, "no abc-def-123", "no •••"],
    [{ headers: { "x-mode": "weather" } }, "the weather", "the weather"],
    [{ headers: { "X-MCP-Tools": "get_weather" } }, "get_weather", "get_weather"],
    [{ env: { API_KEY: "key-of-mine" } }, "key-of-mine", "•••"],
    [{ env: { TZ: "Europe/Rome", LEVEL: "debug" } }, "Europe/Rome debug", "Europe/Rome debug"],
    [{}, "a sbcb_0123456789_0123456789-x b", "a ••• b"],
    [{}, "sbcb_ tokens", "sbcb_ tokens"],
  ] as const)("%j: %s", (credentials, text, masked) => {
    const mask = createEchoMask(credentials);
    expect(mask.text(text)).toBe(masked);
    expect(mask.json({ a: [text] })).toEqual({ a: [masked] });
    const { code, message } = mask.error(new ConnectionError("rejected", text));
    expect([code, message]).toEqual(["rejected", masked]);
  });

  it("include the secret of an OAuth client, as HTTP Basic sends it", () => {
    const client_secret = "s:e c/r=e t";
    const mask = createEchoMask({ auth: { type: "oauth", client_id: "id", client_secret } });
    const basic = btoa(`id:${encodeURIComponent(client_secret)}`);
    expect(mask.text(`Basic ${basic}`)).toContain("•••");
    expect(mask.text(client_secret)).toBe("•••");
  });
});

it("masks the last tokens, and those that are sent again", () => {
  const mask = createEchoMask({});
  for (let at = 0; at < 20; at += 1) {
    mask.add("the-identity-of-the-hub");
    mask.add(`access-token-${at}.`);
  }
  expect(mask.text("the-identity-of-the-hub access-token-19. access-token-15.")).toBe(
    "••• ••• •••",
  );
});

it("returns values without an echo as they are", () => {
  const value = { a: ["b", 1, null], c: { d: true } };
  expect(createEchoMask({ env: { KEY: "key-of-mine" } }).json(value)).toBe(value);
});
