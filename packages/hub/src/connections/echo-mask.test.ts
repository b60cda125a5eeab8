import { describe, expect, it } from "vitest";
import { ConnectionError } from "./connection-error.ts";
import { createEchoMask } from "./echo-mask.ts";

describe("createEchoMask", () => {
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
  ] as const)("with %j, masks the text '%s' as '%s'", (credentials, text, masked) => {
    const mask = createEchoMask(credentials);
    expect(mask.text(text)).toBe(masked);
    expect(mask.json({ a: [text] })).toEqual({ a: [masked] });
    const { code, message } = mask.error(new ConnectionError("rejected", text));
    expect([code, message]).toEqual(["rejected", masked]);
  });

  it("masks the secret of an OAuth client, also as HTTP Basic encodes it", () => {
    const client_secret = "s:e c/r=e t";
    const mask = createEchoMask({ auth: { type: "oauth", client_id: "id", client_secret } });
    const basic = btoa(`id:${encodeURIComponent(client_secret)}`);
    expect(mask.text(`Basic ${basic}`)).toContain("•••");
    expect(mask.text(client_secret)).toBe("•••");
  });
});

it("masks the tokens that were added last, also if one is added repeatedly", () => {
  const mask = createEchoMask({});
  for (let count = 0; count < 20; count += 1) {
    mask.add("the-identity-of-the-hub");
    mask.add(`access-token-${count}.`);
  }
  expect(mask.text("the-identity-of-the-hub access-token-19. access-token-15.")).toBe(
    "••• ••• •••",
  );
});

it("returns the same object if there is nothing to mask", () => {
  const value = { a: ["b", 1, null], c: { d: true } };
  expect(createEchoMask({ env: { KEY: "key-of-mine" } }).json(value)).toBe(value);
});
