import { decodeJwt, decodeProtectedHeader } from "jose";
import { expect, it } from "vitest";
import { createIdentity } from "./identity.ts";

it("signs a token once per connection, and again before it expires", async () => {
  let time = 1_000_000;
  const issuer = Promise.withResolvers<string>();
  const identity = createIdentity({
    sealKey: new Uint8Array(32),
    issuer: issuer.promise,
    now: () => time,
  });
  const beforeStart = identity("weather-aaaaaa");
  issuer.resolve("https://hub.test");
  const token = await beforeStart;
  expect(decodeProtectedHeader(token)).toEqual({ alg: "HS256", typ: "JWT" });
  expect(decodeJwt(token)).toEqual({
    connectionId: "weather-aaaaaa",
    iss: "https://hub.test",
    iat: 1_000,
    exp: 1_300,
  });
  expect(await identity("weather-aaaaaa")).toBe(token);
  expect(await identity("other-aaaaaa")).not.toBe(token);
  time += 240_000;
  expect(decodeJwt(await identity("weather-aaaaaa")).exp).toBe(1_540);
});

it("signs with a key that is derived from the seal key", async () => {
  const sign = (fill: number) =>
    createIdentity({
      sealKey: new Uint8Array(32).fill(fill),
      issuer: Promise.resolve(""),
      now: () => 0,
    })("a");
  expect(await sign(1)).toBe(await sign(1));
  expect(await sign(1)).not.toBe(await sign(2));
});
