import { expect, it } from "vitest";
import { issuerFor } from "./oauth-paths.ts";

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
