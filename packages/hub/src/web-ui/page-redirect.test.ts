import { expect, it } from "vitest";
import { issuerFor } from "../oauth/oauth-paths.ts";
import { pageAddress } from "./page-redirect.ts";

const PAGE = { accept: "text/html,*/*" };
const addressOf = (url: string, headers: Record<string, string> = PAGE, host = "127.0.0.1") =>
  pageAddress(new Request(url, { headers }), host);

it.each([
  ["http://localhost:4747/", "http://127.0.0.1:4747/"],
  ["http://[::1]:4747/runs?view=failed", "http://127.0.0.1:4747/runs?view=failed"],
  [
    "http://localhost:4747/oauth/device?user_code=B",
    "http://127.0.0.1:4747/oauth/device?user_code=B",
  ],
  [
    "http://localhost:4747/oauth/authorize?client_id=a&resource=http%3A%2F%2Flocalhost%3A4747%2Fmcp",
    "http://127.0.0.1:4747/oauth/authorize?client_id=a&resource=http%3A%2F%2Flocalhost%3A4747%2Fmcp",
  ],
  [
    "http://localhost:4747/oauth/authorize?client_id=a",
    "http://127.0.0.1:4747/oauth/authorize?client_id=a&resource=http%3A%2F%2Flocalhost%3A4747",
  ],
])("redirects %s to the host name of the hub", (url, address) => {
  expect(addressOf(url)).toBe(address);
});

it("redirects to the host name on which the hub listens, also to localhost and to IPv6", () => {
  expect(addressOf("http://127.0.0.1:4747/inbox", PAGE, "localhost")).toBe(
    "http://localhost:4747/inbox",
  );
  expect(addressOf("http://localhost:4747/inbox", PAGE, "::1")).toBe("http://[::1]:4747/inbox");
  expect(addressOf("http://[::1]:4747/inbox", PAGE, "::1")).toBeUndefined();
});

it.each(["/api/events", "/mcp", "/auth/github/callback", "/oauth/token", "/assets/app.js"])(
  "does not redirect %s, which is not a page",
  (path) => {
    expect(addressOf(`http://localhost:4747${path}`)).toBeUndefined();
  },
);

it("does not redirect programs, forms, requests through proxies, and pages under other host names", () => {
  expect(addressOf("http://127.0.0.1:4747/inbox")).toBeUndefined();
  expect(addressOf("http://hub.example:4747/inbox")).toBeUndefined();
  expect(addressOf("http://localhost:4747/", { accept: "*/*" })).toBeUndefined();
  expect(addressOf("http://localhost:4747/", { ...PAGE, "x-forwarded-for": "203.0.113.7" })).toBe(
    undefined,
  );
  const form = new Request("http://localhost:4747/oauth/authorize", {
    method: "POST",
    headers: PAGE,
  });
  expect(pageAddress(form, "127.0.0.1")).toBeUndefined();
});

it("returns the issuer with the loopback name that the client uses, if it is the same hub", () => {
  const hub = "http://127.0.0.1:4747";
  expect(issuerFor("http://localhost:4747/mcp", hub)).toBe("http://localhost:4747");
  expect(issuerFor("http://localhost:4748/mcp", hub)).toBe(hub);
  expect(issuerFor("https://localhost:4747/mcp", hub)).toBe(hub);
  expect(issuerFor("http://evil.example:4747/mcp", hub)).toBe(hub);
  expect(issuerFor("http://localhost:4747/mcp", "http://192.168.0.7:4747")).toBe(
    "http://192.168.0.7:4747",
  );
  expect(issuerFor(undefined, hub)).toBe(hub);
});
