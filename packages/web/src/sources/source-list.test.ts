import { expect, it } from "vitest";
import { configText, receivedBy, secretsText } from "./source-list.ts";

it("sums up what an endpoint has received", () => {
  const type = (source_id: string, type: string, count: number, last_received_at: string) => ({
    source: "github",
    source_id,
    type,
    count,
    last_received_at,
  });
  const received = receivedBy([
    type("github", "push", 2, "2026-11-15T10:00:00Z"),
    type("github", "issues", 3, "2026-11-15T09:00:00Z"),
    type("other", "push", 1, "2026-11-15T08:00:00Z"),
  ]);
  expect(received.get("github")).toEqual({
    lastAt: "2026-11-15T10:00:00Z",
    types: ["push", "issues"],
  });
  expect(received.get("other")?.types).toEqual(["push"]);
});

it("names the secrets of an endpoint", () => {
  const secret = (expires_at: string | null) => ({ id: "s", created_at: "", expires_at });
  const text = (...times: (string | null)[]) =>
    secretsText({ secrets: times.map(secret) }, (iso) => iso, Date.parse("2026-11-15T12:00:00Z"));
  expect(text()).toContain("no secret");
  expect(text(null)).toBe("1 secret");
  const [past, soon, later] = ["11:59", "13:00", "14:00"].map(
    (time) => `2026-11-15T${time}:00Z`,
  ) as [string, string, string];
  expect(text(later, null, soon)).toBe(`3 secrets, the former valid until ${later}`);
  expect(text(past, null)).toBe("1 secret");
});

it("names how an endpoint verifies and reads its webhooks", () =>
  expect(configText({ mode: "hmac", header: "X-Acme", n: 1 })).toBe(
    "mode hmac, header X-Acme, n 1",
  ));
