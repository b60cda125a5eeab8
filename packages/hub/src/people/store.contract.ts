import { expect } from "vitest";
import { START } from "../events/store/contract/sample.ts";
import type { It } from "../kernel/store/contract/subject.ts";
import type { Person } from "./model.ts";

const ada: Person = {
  id: "github:7",
  login: "ada",
  name: "Ada",
  avatar: "https://avatars.example/7",
  sealed: "sealed 1",
  checked_at: START,
  memberships: [
    { tenant: "100", role: "admin" },
    { tenant: "7", role: "member" },
  ],
};

export function peopleContract(it: It): void {
  it("are stored with their memberships, and replaced as a whole", async ({ store, reopen }) => {
    expect(await store.getPerson("github:7")).toBeUndefined();
    expect(await store.putPerson(ada)).toBe(true);
    await store.putPerson({ ...ada, id: "github:8", login: "bob", memberships: [] });
    const reopened = await reopen();
    expect(await reopened.getPerson("github:7")).toEqual(ada);
    const renamed: Person = {
      ...ada,
      login: "ada-l",
      name: null,
      avatar: null,
      sealed: "sealed 2",
      checked_at: START + 1,
      memberships: [{ tenant: "100", role: "member" }],
    };
    expect(await reopened.putPerson(renamed)).toBe(true);
    expect(await reopened.getPerson("github:7")).toEqual(renamed);
    expect(await reopened.getPerson("github:8")).toMatchObject({ login: "bob", memberships: [] });
  });

  it("lose their membership of a deleted tenant, even if GitHub confirms it later", async ({
    store,
  }) => {
    await store.putTenant({ id: "100", at: START });
    await store.putPerson(ada);
    await store.startDeletion("100", START);
    await store.putPerson({ ...ada, checked_at: START + 1 });
    const { memberships } = (await store.getPerson("github:7")) ?? {};
    expect(memberships).toEqual([{ tenant: "7", role: "member" }]);
  });

  it("are not changed by a check that used replaced tokens", async ({ store }) => {
    expect(await store.putPerson(ada, "sealed 1")).toBe(false);
    expect(await store.getPerson("github:7")).toBeUndefined();
    await store.putPerson(ada);
    const checked = { ...ada, sealed: "sealed 2", memberships: [] };
    expect(await store.putPerson(checked, "sealed 0")).toBe(false);
    expect(await store.endPerson("github:7", "sealed 0", START)).toBe(false);
    expect(await store.getPerson("github:7")).toEqual(ada);
    expect(await store.putPerson(checked, "sealed 1")).toBe(true);
    expect(await store.getPerson("github:7")).toEqual(checked);
  });

  it("are leased by one of several processes, until they are stored", async ({ store }) => {
    await store.putPerson(ada);
    const lease = (now: number) => store.leasePerson("github:7", now, now + 10);
    const leased = await Promise.all([lease(START), lease(START), lease(START + 9)]);
    expect(leased.filter(Boolean)).toEqual([ada]);
    expect(await lease(START + 20)).toEqual(ada);
    expect(await lease(START + 21)).toBeUndefined();
    await store.putPerson(ada, "sealed 1");
    expect(await lease(START + 21)).toEqual(ada);
    expect(await store.leasePerson("github:8", START, START + 10)).toBeUndefined();
  });

  it("are removed if they have had no valid token for some time", async ({ store, sql }) => {
    const put = async (id: string, checked_at: number, expires_at?: number | null) => {
      await store.putPerson({ ...ada, id, checked_at });
      if (expires_at === undefined) return;
      await store.putToken({
        id: `token of ${id}`,
        person: id,
        name: id,
        hash: `hash of ${id}`,
        scopes: ["admin"],
        tenants: ["*"],
        created_at: START,
        expires_at,
      });
    };
    await put("never expires", START, null);
    await put("valid", START, START + 11);
    await put("seen", START + 10);
    await put("expired", START, START + 10);
    await put("revoked", START + 1, null);
    await store.revokeToken("token of revoked", START + 1);
    expect(await store.sweepPeople(START + 10, 1)).toBe(1);
    expect(await store.sweepPeople(START + 10, 10)).toBe(1);
    expect(await store.sweepPeople(START + 10, 10)).toBe(0);
    const remaining = ["never expires", "seen", "valid"];
    expect((await sql("SELECT id FROM people ORDER BY id")).map(({ id }) => id)).toEqual(remaining);
    const rows = await sql("SELECT DISTINCT person FROM memberships ORDER BY person");
    expect(rows.map(({ person }) => person)).toEqual(remaining);
  });

  it("lose their tokens and sessions when their access ends, and can sign in again", async ({
    store,
  }) => {
    await store.putPerson(ada);
    const token = (id: string, person: string | null) =>
      store.putToken({
        id,
        kind: "session",
        person,
        name: id,
        hash: `hash of ${id}`,
        scopes: ["admin"],
        tenants: ["*"],
        created_at: START,
        expires_at: START + 10,
      });
    await token("tab", "github:7");
    await token("tab of another person", "github:8");
    await token("tab of the operator", null);
    const grant = (id: string, person: string) =>
      store.createOAuthGrant({
        id,
        client_id: "client",
        client_name: "Editor",
        status: "approved",
        code_hash: `hash of ${id}`,
        user_code: null,
        redirect_uri: null,
        challenge: null,
        resource: "https://hub.example/mcp",
        scopes: ["inbox:read"],
        tenants: ["*"],
        person,
        parent: null,
        salt: "salt",
        created_at: START,
        expires_at: START + 10,
      });
    await grant("editor", "github:7");
    await grant("editor of another person", "github:8");
    expect(await store.endPerson("github:7", "sealed 1", START + 1)).toBe(true);
    expect(await store.getOAuthGrant("editor")).toMatchObject({ status: "revoked" });
    expect(await store.getOAuthGrant("editor of another person")).toMatchObject({
      status: "approved",
    });
    expect(await store.endPerson("github:7", "sealed 1", START + 2)).toBe(false);
    expect(await store.getPerson("github:7")).toEqual({ ...ada, sealed: null, memberships: [] });
    const ended = (await store.listTokens({ kind: "session", limit: 100 })).filter(
      ({ revoked_at }) => revoked_at,
    );
    expect(ended.map(({ id }) => id)).toEqual(["tab"]);
    await store.putPerson(ada);
    expect(await store.getPerson("github:7")).toEqual(ada);
    expect(await store.getToken("tab")).toMatchObject({ revoked_at: START + 1 });
  });
}
