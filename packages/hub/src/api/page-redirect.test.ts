import { expect, it } from "vitest";
import { issuerFor, pageAddress } from "./page-redirect.ts";

const PAGE = { accept: "text/html,*/*" };
const at = (url: string, headers: Record<string, string> = PAGE, host = "127.0.0.1") =>
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
])("leads %s to the hub's own name", (url, address) => {
  expect(at(url)).toBe(address);
});

it("leads to the name that the hub listens on", () => {
  expect(at("http://127.0.0.1:4747/inbox", PAGE, "localhost")).toBe("http://localhost:4747/inbox");
  expect(at("http://localhost:4747/inbox", PAGE, "::1")).toBe("http://[::1]:4747/inbox");
  expect(at("http://[::1]:4747/inbox", PAGE, "::1")).toBeUndefined();
});

it.each(["/api/events", "/mcp", "/auth/github/callback", "/oauth/token", "/assets/app.js"])(
  "leaves %s where it is",
  (path) => {
    expect(at(`http://localhost:4747${path}`)).toBeUndefined();
  },
);

it("leaves programs, proxies and other names where they are", () => {
  expect(at("http://127.0.0.1:4747/inbox")).toBeUndefined();
  expect(at("http://hub.example:4747/inbox")).toBeUndefined();
  expect(at("http://localhost:4747/", { accept: "*/*" })).toBeUndefined();
  expect(at("http://localhost:4747/", { ...PAGE, "x-forwarded-for": "203.0.113.7" })).toBe(
    undefined,
  );
  const form = new Request("http://localhost:4747/oauth/authorize", {
    method: "POST",
    headers: PAGE,
  });
  expect(pageAddress(form, "127.0.0.1")).toBeUndefined();
});

it("names the issuer as the client does, if it is the same hub", () => {
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
