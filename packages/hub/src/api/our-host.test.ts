import { describe, expect, it } from "vitest";
import { createIsOurHost, createIsOurOrigin } from "./our-host.ts";

describe("an origin", () => {
  const isOurs = createIsOurOrigin({ port: 4747, publicUrl: "https://hub.example/here" });
  it.each([
    ["http://127.0.0.1:4747", "127.0.0.1:4747"],
    ["http://192.0.2.7:4747", "192.0.2.7:4747"],
    ["https://192.0.2.7", "192.0.2.7"],
    ["https://192.0.2.7", "192.0.2.7:443"],
    ["https://hub.example", "127.0.0.1:4747"],
    ["http://localhost:4747", "127.0.0.1:4747"],
    ["http://[::1]:4747", "localhost:4747"],
    ["http://LOCALHOST:4747", "127.0.0.1:4747"],
  ])("%s at %s is ours", (origin, host) => {
    expect(isOurs(origin, host)).toBe(true);
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
    ["", ""],
    ["file:///etc", ""],
    ["chrome-extension://abc", "abc"],
    ["http://127.0.0.1:3000", "not a host"],
  ])("%s at %s is not", (origin, host) => {
    expect(isOurs(origin, host)).toBe(false);
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
])("a request to %s is one to this hub: %s", (host, ours) => {
  const isOurHost = createIsOurHost({ host: "0.0.0.0", publicUrl: "https://hub.example" });
  expect([isOurHost(host), isOurHost(host)]).toEqual([ours, ours]);
});
