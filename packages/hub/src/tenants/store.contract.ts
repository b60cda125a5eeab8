import { expect } from "vitest";
import { appendEvents, itemAt, START, sampleEvent } from "../events/store/contract/sample.ts";
import type { Token } from "../kernel/access/scopes.ts";
import type { It } from "../kernel/store/contract/subject.ts";
import type { TokenQuery } from "../tokens/model.ts";
import type { InstallationUpdate } from "./model.ts";

const token = (id: string, overrides: Partial<Token> = {}): Omit<Token, "revoked_at"> => ({
  id,
  kind: "token",
  parent: null,
  last_used_at: null,
  person: null,
  resource: null,
  name: `token ${id}`,
  hash: `hash of ${id}`,
  scopes: ["inbox:read", "inbox:write"],
  tenants: ["acme", "umbrella"],
  created_at: START,
  expires_at: null,
  ...overrides,
});

const NO_SETTINGS = {
  deleting: false,
  quota: null,
  processed_for: null,
  pending_for: null,
  max_bytes: null,
};

const update = (
  tenant: string,
  version: number,
  overrides: Partial<InstallationUpdate> = {},
): InstallationUpdate => ({
  id: "7",
  tenant,
  account: tenant,
  version,
  change: null,
  suspended_at: null,
  ...overrides,
});

export function registryContract(it: It): void {
  it("creates a tenant once, and updates only the given fields", async ({ store }) => {
    const counters = { seq: 0, pruned_seq: 0, pending: 0, bytes: 0, runs_bytes: 0, ...NO_SETTINGS };
    expect(await store.getTenant("acme")).toBeUndefined();
    expect(await store.putTenant({ id: "acme", at: START })).toEqual({
      id: "acme",
      name: null,
      created_at: START,
      ...counters,
    });
    await store.putTenant({ id: "acme", name: "Acme", at: START + 1 });
    await store.putTenant({ id: "acme", quota: 5, at: START + 2 });
    const acme = { id: "acme", name: "Acme", created_at: START, ...counters, quota: 5 };
    expect(await store.putTenant({ id: "acme", at: START + 3 })).toEqual(acme);
    expect(await store.getTenant("acme")).toEqual(acme);
    expect(await store.putTenant({ id: "acme", name: null, quota: null, at: START })).toMatchObject(
      {
        name: null,
        quota: null,
      },
    );
  });

  it("creates a tenant with its first event", async ({ store }) => {
    const event = sampleEvent({ received_at: START + 9 });
    await appendEvents(store, [event]);
    await store.putTenant({ id: "acme", name: "Acme", at: START + 50 });
    expect(await store.getTenant("acme")).toEqual({
      id: "acme",
      name: "Acme",
      created_at: START + 9,
      seq: 1,
      pruned_seq: 0,
      pending: 1,
      bytes: expect.any(Number),
      runs_bytes: 0,
      ...NO_SETTINGS,
    });
  });

  it("lists tenants sorted bytewise by id", async ({ store }) => {
    // Linguistic collations of these ids differ between engines.
    const sorted = ["10", "9", "B", "a", "a-b", "aB", "a_b", "ab", "b", "é"];
    for (const id of sorted.toReversed()) await store.putTenant({ id, at: START });
    const listed: string[] = [];
    for (let page = await store.listTenants("", 3); page.length > 0; ) {
      listed.push(...page.map(({ id }) => id));
      page = await store.listTenants(itemAt(listed, -1), 3);
    }
    expect(listed).toEqual(sorted);
  });

  it("maps an installation to a tenant, and accepts only newer versions", async ({ store }) => {
    expect(await store.findInstallation("7")).toBeUndefined();
    const acme = {
      id: "7",
      tenant: "acme",
      account: "acme-inc",
      version: 5,
      suspended_at: null,
      removed_at: null,
    };
    expect(await store.putInstallation(update("acme", 5, { account: "acme-inc" }), START)).toEqual(
      acme,
    );
    expect(await store.findInstallation("7")).toEqual(acme);
    expect(await store.getTenant("acme")).toMatchObject({ name: "acme-inc", created_at: START });

    for (const version of [0, 4, 5])
      expect(await store.putInstallation(update("umbrella", version), START + 1)).toEqual(acme);
    expect(await store.findInstallation("7")).toEqual(acme);
    expect(await store.getTenant("umbrella")).toBeUndefined();

    const umbrella = { ...acme, tenant: "umbrella", account: "umbrella", version: 6 };
    expect(await store.putInstallation(update("umbrella", 6), START + 2)).toEqual(umbrella);
    expect(await store.findInstallation("7")).toEqual(umbrella);
    expect(await store.getTenant("acme")).toMatchObject({ name: "acme-inc" });
  });

  it("keeps an installation removed until a newer version restores it", async ({ store }) => {
    const put = (version: number, change: "removed" | "restored" | null, at: number) =>
      store.putInstallation(update("acme", version, { change }), at);
    await put(5, null, START);
    expect(await put(4, "removed", START + 1)).toMatchObject({ removed_at: null });
    // The removal has the same version as the creation in GitHub's events.
    expect(await put(5, "removed", START + 2)).toMatchObject({ removed_at: START + 2, version: 5 });
    expect(await put(9, "removed", START + 3)).toMatchObject({ removed_at: START + 2 });
    expect(await put(5, "restored", START + 4)).toMatchObject({ removed_at: START + 2 });
    expect(await put(7, null, START + 5)).toMatchObject({ removed_at: START + 2, version: 5 });
    expect(await put(6, "restored", START + 6)).toMatchObject({ removed_at: null, version: 6 });
    expect(await store.findInstallation("7")).toMatchObject({ removed_at: null, version: 6 });
    // The removal may be the first update of an installation.
    const removal = update("acme", 1, { id: "8", change: "removed" });
    expect(await store.putInstallation(removal, START)).toMatchObject({ removed_at: START });
  });

  it("stores a suspension, and its end even if that has the same version", async ({ store }) => {
    const put = (version: number, suspended_at: number | null, change: "restored" | null = null) =>
      store.putInstallation(update("acme", version, { suspended_at, change }), START);
    await put(1, null);
    expect(await put(2, START)).toMatchObject({ suspended_at: START, version: 2 });
    expect(await put(2, null)).toMatchObject({ suspended_at: START });
    expect(await put(1, null, "restored")).toMatchObject({ suspended_at: START });
    expect(await put(2, null, "restored")).toMatchObject({ suspended_at: null });
    expect(await put(2, START)).toMatchObject({ suspended_at: null });
  });

  it("lists the installations of a tenant, the oldest first", async ({ store }) => {
    await store.putInstallation(update("acme", 1, { id: "8" }), START + 1);
    await store.putInstallation(update("acme", 1, { id: "9", change: "removed" }), START);
    await store.putInstallation(update("umbrella", 1), START);
    expect(await store.listInstallations("acme")).toMatchObject([
      { id: "9", removed_at: START },
      { id: "8", tenant: "acme", account: "acme", removed_at: null },
    ]);
    expect(await store.listInstallations("globex")).toEqual([]);
  });

  it("keeps the newest name of a tenant", async ({ store }) => {
    await store.renameTenant("acme", "outdated", 9);
    expect(await store.getTenant("acme")).toBeUndefined();
    await store.putInstallation(update("acme", 5), START);
    await store.renameTenant("acme", "Acme 7", 7);
    await store.renameTenant("acme", "Acme 6", 6);
    await store.putInstallation(update("acme", 6, { account: "Acme 6" }), START);
    expect(await store.getTenant("acme")).toMatchObject({ name: "Acme 7" });
    await store.putInstallation(update("acme", 8, { account: "Acme 8" }), START);
    expect(await store.getTenant("acme")).toMatchObject({ name: "Acme 8" });
  });

  it("keeps the newest of many versions, in any order of arrival", async ({ store }) => {
    const versions = [3, 1, 8, 2, 7, 5, 6, 4];
    await Promise.all(
      versions.map((version) => store.putInstallation(update(`tenant ${version}`, version), START)),
    );
    expect(await store.findInstallation("7")).toMatchObject({ tenant: "tenant 8", version: 8 });
  });

  it("keeps the name of a tenant if an installation has no account", async ({ store }) => {
    await store.putTenant({ id: "acme", name: "Acme", quota: 5, at: START });
    await store.putInstallation(update("acme", 1, { account: null }), START + 1);
    expect(await store.getTenant("acme")).toMatchObject({
      name: "Acme",
      quota: 5,
      created_at: START,
    });
  });

  it("finds a token by its hash", async ({ store }) => {
    await store.putToken(token("a", { expires_at: START + 10 }));
    expect(await store.findToken("hash of a")).toEqual({
      ...token("a", { expires_at: START + 10 }),
      revoked_at: null,
    });
    expect(await store.findToken("a")).toBeUndefined();
    expect(await store.findToken("HASH OF A")).toBeUndefined();
    expect(await store.findToken("hash of %")).toBeUndefined();
  });

  it("stores the person and the audience of a token", async ({ store }) => {
    const oauth = token("a", {
      kind: "oauth",
      parent: "grant 1",
      person: "github:7",
      resource: "https://hub.example/mcp",
    });
    await store.putToken(oauth);
    expect(await store.findToken("hash of a")).toEqual({ ...oauth, revoked_at: null });
    expect(await store.listTokens({ kind: "oauth", limit: 100 })).toEqual([
      { ...oauth, revoked_at: null },
    ]);
  });

  it("rejects a second token with the same id or hash", async ({ store }) => {
    expect(await store.putToken(token("a"))).toBe(true);
    expect(await store.putToken(token("b", { hash: "hash of a", scopes: ["admin"] }))).toBe(false);
    expect(await store.putToken(token("a", { hash: "other", scopes: ["admin"] }))).toBe(false);
    expect(await store.listTokens({ limit: 100 })).toEqual([{ ...token("a"), revoked_at: null }]);
  });

  it("replaces the tokens whose id has a prefix, and restores a revoked token", async ({
    store,
  }) => {
    await store.putToken(token("mine"));
    const states = async () =>
      Object.fromEntries(
        (await store.listTokens({ limit: 100 })).map(({ id, revoked_at }) => [id, revoked_at]),
      );
    await store.replaceTokens("env-", token("env-1"), START);
    await store.replaceTokens("env-", token("env-2"), START + 1);
    expect(await states()).toEqual({ mine: null, "env-1": START + 1, "env-2": null });
    await store.replaceTokens("env-", token("env-1"), START + 2);
    expect(await states()).toEqual({ mine: null, "env-1": null, "env-2": START + 2 });
    await store.replaceTokens("env-", undefined, START + 3);
    expect(await states()).toEqual({ mine: null, "env-1": START + 3, "env-2": START + 2 });
    const withUsedHash = token("env-3", { hash: "hash of mine", scopes: ["admin"] });
    await store.replaceTokens("env-", withUsedHash, START + 4);
    expect(await store.findToken("hash of mine")).toEqual({ ...withUsedHash, revoked_at: null });
    expect(Object.keys(await states()).sort()).toEqual(["env-1", "env-2", "env-3"]);
  });

  it("lists tokens in pages, sorted by id in descending order", async ({ store }) => {
    for (const id of ["c", "a", "e", "b", "d"]) await store.putToken(token(id));
    const ada = { kind: "session" as const, person: "github:7", tenants: ["*"] };
    for (const id of ["s1", "s3"]) await store.putToken(token(id, ada));
    await store.putToken(token("s2", { ...ada, person: "github:8" }));
    await store.putToken(token("s4", { ...ada, tenants: ["acme"] }));
    const ids = async (query: TokenQuery) => (await store.listTokens(query)).map(({ id }) => id);
    expect(await ids({ limit: 2 })).toEqual(["e", "d"]);
    expect(await ids({ limit: 2, before: "d" })).toEqual(["c", "b"]);
    expect(await ids({ limit: 2, before: "b" })).toEqual(["a"]);
    expect(await ids({ limit: 2, before: "a" })).toEqual([]);
    const everywhere = { kind: "session", tenant: "*" } as const;
    expect(await ids({ ...everywhere, limit: 2 })).toEqual(["s3", "s2"]);
    expect(await ids({ ...everywhere, limit: 2, before: "s2" })).toEqual(["s1"]);
    expect(await ids({ ...everywhere, person: "github:7", limit: 9 })).toEqual(["s3", "s1"]);
    expect(await ids({ ...everywhere, person: "github:7", limit: 9, before: "s3" })).toEqual([
      "s1",
    ]);
    expect(await ids({ kind: "session", person: "github:7", limit: 9 })).toEqual([
      ...["s4", "s3", "s1"],
    ]);
  });

  it("revokes a token once", async ({ store }) => {
    await store.putToken(token("young", { created_at: START + 5 }));
    await store.putToken(token("old", { tenants: [], scopes: ["admin"] }));
    expect(await store.revokeToken("old", START + 6)).toBe(true);
    expect(await store.revokeToken("old", START + 7)).toBe(false);
    expect(await store.revokeToken("no such", START + 7)).toBe(false);
    expect(await store.findToken("hash of old")).toMatchObject({
      revoked_at: START + 6,
      tenants: [],
      scopes: ["admin"],
    });
    expect(await store.findToken("hash of young")).toMatchObject({ revoked_at: null });
  });

  it("finds a token by its id, even if it is revoked", async ({ store }) => {
    await store.putToken(token("a"));
    await store.revokeToken("a", START + 1);
    expect(await store.getToken("a")).toEqual({ ...token("a"), revoked_at: START + 1 });
    expect(await store.getToken("hash of a")).toBeUndefined();
  });

  it("lists tokens, codes and sessions separately", async ({ store }) => {
    await store.putToken(token("a"));
    await store.putToken(token("code", { kind: "sign_in", expires_at: START + 1 }));
    await store.putToken(token("tab", { kind: "session", parent: "a", expires_at: START + 2 }));
    const ids = async (kind?: Token["kind"]) =>
      (await store.listTokens({ kind, limit: 100 })).map(({ id }) => id);
    expect([await ids(), await ids("sign_in"), await ids("session")]).toEqual([
      ["a"],
      ["code"],
      ["tab"],
    ]);
    expect(await store.findToken("hash of tab")).toMatchObject({ kind: "session", parent: "a" });
  });

  it("revokes the sessions of a revoked token, and no others", async ({ store }) => {
    for (const id of ["env-1", "mine"]) {
      await store.putToken(token(id));
      await store.putToken(token(`tab of ${id}`, { kind: "session", parent: id }));
    }
    await store.putToken(token("tab", { kind: "session" }));
    const revoked = async () =>
      (await store.listTokens({ kind: "session", limit: 100 })).flatMap(({ id, revoked_at }) =>
        revoked_at === null ? [] : [id],
      );
    await store.revokeToken("mine", START + 1);
    expect(await revoked()).toEqual(["tab of mine"]);
    await store.replaceTokens("env-", undefined, START + 2);
    expect(await revoked()).toEqual(["tab of mine", "tab of env-1"]);
  });

  it("counts the codes and sessions of a token", async ({ store }) => {
    await store.putToken(token("a"));
    await store.putToken(token("code", { kind: "sign_in", parent: "a" }));
    await store.putToken(token("tab", { kind: "session", parent: "a" }));
    await store.putToken(token("other", { kind: "session", parent: "b" }));
    await store.revokeToken("code", START + 1);
    expect([await store.countChildren("a"), await store.countChildren("none")]).toEqual([2, 0]);
  });

  it("lists the tokens of one tenant", async ({ store, sql }) => {
    await store.putToken(token("a"));
    await store.putToken(token("b", { tenants: ["umbrella", "umbrella"] }));
    await store.putToken(token("c", { tenants: ["*"] }));
    await store.putToken(token("s", { kind: "session", tenants: ["umbrella"], expires_at: START }));
    // A token with an existing id or an existing hash is not stored.
    await store.putToken(token("a", { tenants: ["globex"] }));
    await store.putToken(token("d", { hash: "hash of a", tenants: ["globex"] }));
    const listed = async (tenant: string, kind?: "session") =>
      (await store.listTokens({ kind, tenant, limit: 100 })).map(({ id }) => id);
    expect(await listed("umbrella")).toEqual(["b", "a"]);
    expect(await listed("umbrella", "session")).toEqual(["s"]);
    expect(await listed("*")).toEqual(["c"]);
    expect(await listed("globex")).toEqual([]);
    await store.replaceTokens(
      "e",
      token("e-2", { hash: "hash of b", tenants: ["globex"] }),
      START + 1,
    );
    expect(await listed("umbrella")).toEqual(["a"]);
    expect(await listed("globex")).toEqual(["e-2"]);
    await store.sweepSessions(START + 1, 10);
    expect(await sql("SELECT * FROM token_tenants WHERE token_id IN ('b', 's')")).toEqual([]);
  });

  it("removes expired codes and sessions, but no tokens", async ({ store }) => {
    await store.putToken(token("a", { expires_at: START }));
    await store.putToken(token("code", { kind: "sign_in", expires_at: START }));
    await store.putToken(token("old", { kind: "session", expires_at: START + 1 }));
    await store.putToken(token("new", { kind: "session", expires_at: START + 2 }));
    expect(await store.sweepSessions(START + 2, 1)).toBe(1);
    expect(await store.sweepSessions(START + 2, 10)).toBe(1);
    expect(await store.sweepSessions(START + 2, 10)).toBe(0);
    const kinds = ["token", "sign_in", "session"] as const;
    const remaining = await Promise.all(
      kinds.map((kind) => store.listTokens({ kind, limit: 100 })),
    );
    expect(remaining.flat().map(({ id }) => id)).toEqual(["a", "new"]);
  });

  it("records the last use of tokens", async ({ store }) => {
    for (const id of ["a", "b", "c"]) await store.putToken(token(id));
    await store.touchTokens(["a", "b", "no such"], START + 5);
    await store.touchTokens(["b"], START + 4);
    await store.touchTokens([], START + 6);
    const used = (await store.listTokens({ limit: 100 })).map(({ last_used_at }) => last_used_at);
    expect(used).toEqual([null, START + 5, START + 5]);
  });

  it("accepts repeated checks that the database is writable", async ({ store }) => {
    await store.checkWritable(START);
    await store.checkWritable(START + 1);
  });
}
