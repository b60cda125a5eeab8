import { describe, expect, it } from "vitest";
import { utf8 } from "../lib/bytes.ts";
import { type Hop, nextHop, parseOutboundUrl } from "./request-rules.ts";

it("accepts https, and http if it is allowed", () => {
  expect(parseOutboundUrl("https://example.com/hook?x=1").host).toBe("example.com");
  expect(parseOutboundUrl("http://example.com", { allowHttp: true }).protocol).toBe("http:");
  expect(() => parseOutboundUrl("http://example.com")).toThrow(/protocol http:.*Use https:\.$/);
});

it.each([
  ["", /not valid/],
  ["example.com/hook", /not valid/],
  ["https://", /not valid/],
  ["https://256.256.256.256/", /not valid/],
  ["https://exa mple.com/", /not valid/],
  ["file:///etc/passwd", /protocol file:.*Use http: or https:/],
  ["gopher://example.com", /protocol gopher:/],
  ["javascript:alert(1)", /protocol javascript:/],
  ["unix:/var/run/docker.sock", /protocol unix:/],
  ["https://user:hunter2@example.com/", /example\.com contains a user name/],
  ["https://hunter2@example.com/", /contains a user name/],
  ["https://:hunter2@example.com/", /Authorization header/],
])("rejects %s", (text, message) => {
  const parse = () => parseOutboundUrl(text, { allowHttp: true });
  expect(parse).toThrow(expect.objectContaining({ code: "invalid_url" }));
  expect(parse).toThrow(message);
  expect(parse).not.toThrow(/hunter2/);
});

const body = utf8("{}");
const secrets = { authorization: "Bearer a", cookie: "b=c", "x-api-key": "d" };
const harmless = { accept: "*/*", "idempotency-key": "e" };
const contentHeaders = { "content-type": "application/json", "content-language": "en" };

const hop = (method = "POST"): Hop => ({
  method,
  url: new URL("https://one.example/a/b"),
  headers: new Headers({ ...secrets, ...harmless, ...contentHeaders }),
  body,
});

const follow = (status: number, location: string | undefined, from = hop()) => {
  const next = nextHop(from, status, new Headers(location === undefined ? {} : { location }), {
    allowHttp: true,
  });
  return next && { ...next, url: next.url.href, headers: Object.fromEntries(next.headers) };
};

describe("nextHop follows the rules of fetch:", () => {
  it.each([
    [301, "POST", "GET"],
    [302, "POST", "GET"],
    [303, "POST", "GET"],
    [303, "PUT", "GET"],
    [303, "HEAD", "HEAD"],
    [301, "HEAD", "HEAD"],
    [301, "GET", "GET"],
    [301, "PUT", "PUT"],
    [302, "DELETE", "DELETE"],
    [307, "POST", "POST"],
    [308, "PATCH", "PATCH"],
  ])("with status %i, it turns %s into %s", (status, method, expected) => {
    const next = follow(status, "/c", hop(method));
    expect(next?.method).toBe(expected);
    const becameGet = method !== expected;
    expect(next?.body).toBe(becameGet ? undefined : body);
    expect(next?.headers).toEqual({
      ...secrets,
      ...harmless,
      ...(becameGet ? {} : contentHeaders),
    });
  });

  it("it resolves a relative location", () => {
    expect(follow(307, "c?d=1")?.url).toBe("https://one.example/a/c?d=1");
    expect(follow(307, "//two.example/e")?.url).toBe("https://two.example/e");
  });

  it("it does not redirect without a location or with another status", () => {
    expect(follow(302, undefined)).toBeUndefined();
    for (const status of [200, 201, 300, 304, 305, 306, 400])
      expect(follow(status, "/c")).toBeUndefined();
  });
});

it.each([
  "https://two.example/a/b",
  "https://one.example:8443/a/b",
  "http://one.example/a/b",
  "https://sub.one.example/",
])("sends no secrets to another origin: %s", (location) => {
  expect(follow(307, location)?.headers).toEqual({ ...harmless, ...contentHeaders });
});

it("throws if the location must not be called", () => {
  for (const location of ["file:///etc/passwd", "https://a:b@two.example/", "http://[::1"])
    expect(() => follow(302, location)).toThrow(expect.objectContaining({ code: "invalid_url" }));
  const location = new Headers({ location: "http://one.example/" });
  expect(() => nextHop(hop(), 302, location, { allowHttp: false })).toThrow(/Use https:/);
});
