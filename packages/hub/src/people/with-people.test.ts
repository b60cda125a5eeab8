import { expect, it } from "vitest";
import type { Token } from "../kernel/access/scopes.ts";
import type { Person } from "./model.ts";
import { withPeople } from "./with-people.ts";

const token: Token = {
  id: "tab",
  kind: "session",
  parent: null,
  last_used_at: null,
  person: "github:7",
  resource: null,
  name: "tab",
  hash: "hash",
  scopes: ["admin"],
  tenants: ["*"],
  created_at: 0,
  expires_at: null,
  revoked_at: null,
};
const person: Person = {
  id: "github:7",
  login: "ada",
  name: null,
  avatar: null,
  sealed: "sealed",
  checked_at: 0,
  memberships: [
    { tenant: "100", role: "admin" },
    { tenant: "200", role: "member" },
  ],
};

const lookUp = async (
  overrides: Partial<Token>,
  currentPerson: Person | "ended" | "unconfirmed" | undefined = person,
) => {
  const waits: boolean[] = [];
  const stored = { findToken: async () => find(), getToken: async () => find() };
  const find = () => ({ ...token, ...overrides });
  const people = {
    find: async (_: string, { wait }: { wait: boolean }) => {
      waits.push(wait);
      return currentPerson;
    },
  };
  const tokens = withPeople(stored, people);
  const granted = await tokens.findToken("");
  expect(await tokens.getToken("")).toEqual(granted);
  await tokens.getToken("", { wait: false });
  return { ...granted, waits };
};

it("gives a token the roles of its person, in the tenants of the token", async () => {
  expect(await lookUp({})).toMatchObject({
    tenants: ["100", "200"],
    roles: new Map([
      ["100", "admin"],
      ["200", "member"],
    ]),
    waits: [true, true, false],
  });
  expect(await lookUp({ tenants: ["200", "300"] })).toMatchObject({
    tenants: ["200"],
    roles: new Map([["200", "member"]]),
  });
});

it("gives a token no tenant if its person must sign in again or is unconfirmed, or the hub has no GitHub sign-in", async () => {
  expect(await lookUp({}, "ended")).toMatchObject({ tenants: [], roles: new Map() });
  expect(await lookUp({}, "unconfirmed")).toMatchObject({ tenants: [], roles: "unconfirmed" });
  const withoutSignIn = withPeople(
    { findToken: async () => token, getToken: async () => token },
    undefined,
  );
  expect(await withoutSignIn.findToken("")).toMatchObject({ tenants: [], roles: new Map() });
});

it("does not change tokens without a person, and does not look up the person of a revoked token", async () => {
  expect(await lookUp({ person: null })).toMatchObject({ tenants: ["*"], waits: [] });
  expect(await lookUp({ revoked_at: 1 })).toMatchObject({
    revoked_at: 1,
    tenants: [],
    roles: new Map(),
    waits: [],
  });
});
