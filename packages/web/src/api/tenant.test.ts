import { expect, it } from "vitest";
import { needsTenant, tenantToPin } from "./tenant.ts";

it("needs a choice only if the session has several tenants or all, and none of them is chosen", () => {
  expect(needsTenant(["local"], undefined)).toBe(false);
  expect(needsTenant(["1", "2"], undefined)).toBe(true);
  expect(needsTenant(["1", "2"], "3")).toBe(true);
  expect(needsTenant(["1", "2"], "2")).toBe(false);
  expect(needsTenant([], undefined)).toBe(true);
  expect(needsTenant([], "42")).toBe(false);
});

it("pins the only tenant of a person, but never the tenant of an operator", () => {
  const person = { login: "ada" };
  expect(tenantToPin({ person, tenants: ["1"] }, undefined)).toBe("1");
  expect(tenantToPin({ person, tenants: ["1"] }, "2")).toBeUndefined();
  expect(tenantToPin({ person, tenants: ["1", "2"] }, undefined)).toBeUndefined();
  expect(tenantToPin({ person: null, tenants: ["local"] }, undefined)).toBeUndefined();
});
