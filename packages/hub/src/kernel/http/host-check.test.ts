import { describe, expect, it } from "vitest";
import { createHostCheck } from "./host-check.ts";

describe("an Origin", () => {
  const check = createHostCheck({
    host: "0.0.0.0",
    port: 4747,
    publicUrl: "https://hub.example/here",
  });
  it.each([
    ["http://127.0.0.1:4747", "127.0.0.1:4747"],
    ["https://192.0.2.7", "192.0.2.7"],
    ["https://192.0.2.7", "192.0.2.7:443"],
    ["https://hub.example", "127.0.0.1:4747"],
    ["http://localhost:4747", "127.0.0.1:4747"],
    ["http://[::1]:4747", "localhost:4747"],
    ["http://LOCALHOST:4747", "127.0.0.1:4747"],
  ])("%s is accepted with the Host %s", (origin, host) => {
    expect(check(host, origin)).toBeUndefined();
  });
  it.each([
    ["http://203.0.113.5", "127.0.0.1:4747"],
    ["http://203.0.113.5:4747", "127.0.0.1:4747"],
    ["http://127.0.0.1:3000", "127.0.0.1:4747"],
    ["http://localhost", "127.0.0.1:4747"],
    ["http://192.0.2.7:8080", "192.0.2.7:4747"],
    ["http://hub.example", "127.0.0.1:4747"],
    ["https://hub.example:444", "127.0.0.1:4747"],
    ["https://evil.example", "127.0.0.1:4747"],
    ["null", "127.0.0.1:4747"],
    ["", "127.0.0.1:4747"],
    ["file:///etc", "127.0.0.1:4747"],
    ["chrome-extension://abc", "127.0.0.1:4747"],
  ])("%s is rejected with the Host %s", (origin, host) => {
    expect(check(host, origin)).toMatchObject({ status: 403, code: "foreign_origin" });
  });
});

describe("an http Origin", () => {
  const checkWith = (publicUrl: string | undefined) =>
    createHostCheck({ host: "0.0.0.0", port: 4747, publicUrl, hosts: ["hub.example"] });

  it("is accepted with the same Host if the public URL is not https", () => {
    for (const publicUrl of [undefined, "http://hub.example"]) {
      const check = checkWith(publicUrl);
      expect(check("hub.example", "http://hub.example")).toBeUndefined();
      expect(check("192.0.2.7:4747", "http://192.0.2.7:4747")).toBeUndefined();
    }
  });

  it("is rejected if the public URL is https, except for loopback addresses", () => {
    const check = checkWith("https://hub.example");
    for (const host of ["hub.example", "hub.example:80", "192.0.2.7:4747"])
      expect(check(host, `http://${host}`)).toMatchObject({
        status: 403,
        code: "foreign_origin",
        detail: expect.stringContaining("Open https://hub.example instead"),
      });
    expect(check("127.0.0.1:9000", "http://127.0.0.1:9000")).toBeUndefined();
    expect(check("localhost:4747", "http://[::1]:4747")).toBeUndefined();
  });
});

it.each<[string, boolean]>([
  ["127.0.0.1:3000", true],
  ["[::1]:3000", true],
  ["192.168.1.7", true],
  ["localhost", true],
  ["HUB.example:3000", true],
  ["evil.example", false],
  ["evil.example:3000", false],
  [".", false],
  ["..", false],
  ["", false],
  ["a b", false],
  ["not a host", false],
])("checks the Host %s; accepted: %s", (host, isAccepted) => {
  const check = createHostCheck({ host: "0.0.0.0", port: 4747, publicUrl: "https://hub.example" });
  // Twice: the second result comes from the cache.
  for (const denied of [check(host), check(host)])
    expect(denied?.code).toBe(isAccepted ? undefined : "wrong_host");
});

it("names the limit if the Host is too long", () => {
  const check = createHostCheck({ host: "0.0.0.0", port: 4747, publicUrl: undefined });
  expect(check("h".repeat(260))?.detail).not.toContain("260");
  expect(check("h".repeat(300))).toMatchObject({
    status: 421,
    code: "wrong_host",
    detail: "The Host header exceeds the limit of 260 characters.",
  });
});
