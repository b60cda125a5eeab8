import { expect, it } from "vitest";
import { describeConfig, describeSecrets, groupByEndpoint } from "./source-list.ts";

it("returns the last time and the types of the events of each endpoint", () => {
  const type = (source_id: string, type: string, count: number, last_received_at: string) => ({
    source: "github",
    source_id,
    type,
    count,
    last_received_at,
  });
  const received = groupByEndpoint([
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

it("counts the valid secrets of an endpoint, and shows until when the former ones are valid", () => {
  const secret = (expires_at: string | null) => ({ id: "s", created_at: "", expires_at });
  const text = (...times: (string | null)[]) =>
    describeSecrets(
      { secrets: times.map(secret) },
      (iso) => iso,
      Date.parse("2026-11-15T12:00:00Z"),
    );
  expect(text()).toContain("no secret");
  expect(text(null)).toBe("1 secret");
  const [past, soon, later] = ["11:59", "13:00", "14:00"].map(
    (time) => `2026-11-15T${time}:00Z`,
  ) as [string, string, string];
  expect(text(later, null, soon)).toBe(`3 secrets, the former valid until ${later}`);
  expect(text(past, null)).toBe("1 secret");
});

it("lists the names and values of a config", () =>
  expect(describeConfig({ mode: "hmac", header: "X-Acme", n: 1 })).toBe(
    "mode hmac, header X-Acme, n 1",
  ));
