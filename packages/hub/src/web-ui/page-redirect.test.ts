import { expect, it } from "vitest";
import { oauthPages } from "../oauth/oauth-paths.ts";
import { pageAddress } from "./page-redirect.ts";

const PAGE = { accept: "text/html,*/*" };
const addressOf = (url: string, headers: Record<string, string> = PAGE, host = "127.0.0.1") =>
  pageAddress(new Request(url, { headers }), host, oauthPages);

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
  expect(pageAddress(form, "127.0.0.1", oauthPages)).toBeUndefined();
});
