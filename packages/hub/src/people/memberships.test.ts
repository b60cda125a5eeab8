import { expect, it } from "vitest";
import { membershipsOf } from "./memberships.ts";

const organizations = [
  { id: "100", state: "active", role: "admin" },
  { id: "200", state: "active", role: "member" },
  { id: "300", state: "pending", role: "admin" },
  { id: "400", state: "active", role: "billing_manager" },
];

it("memberships include the own account and active organizations that have installed the App", () => {
  const installedIn = ["7", "200", "100", "100"];
  expect(membershipsOf({ id: "7", installedIn, organizations })).toEqual([
    { tenant: "100", role: "admin" },
    { tenant: "200", role: "member" },
    { tenant: "7", role: "admin" },
  ]);
});

it("memberships exclude accounts of others, and organizations of a pending member or billing manager", () => {
  const installedIn = ["8", "900", "300", "400"];
  expect(membershipsOf({ id: "7", installedIn, organizations })).toEqual([]);
});

it("memberships exclude organizations without the App", () => {
  expect(membershipsOf({ id: "7", installedIn: [], organizations })).toEqual([]);
});
