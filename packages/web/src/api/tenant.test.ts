import { expect, it } from "vitest";
import { needsTenant } from "./tenant.ts";

it("asks for a tenant only if the session has several or all", () => {
  expect(needsTenant(["local"], undefined)).toBe(false);
  expect(needsTenant(["1", "2"], undefined)).toBe(true);
  expect(needsTenant(["1", "2"], "3")).toBe(true);
  expect(needsTenant(["1", "2"], "2")).toBe(false);
  expect(needsTenant([], undefined)).toBe(true);
  expect(needsTenant([], "42")).toBe(false);
});
