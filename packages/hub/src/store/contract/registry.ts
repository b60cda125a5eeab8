import { expect } from "vitest";
import type { Token } from "../store.ts";
import { keep, nth, START, sampleEvent } from "./sample.ts";
import type { It } from "./subject.ts";

const token = (id: string, given: Partial<Token> = {}): Omit<Token, "revoked_at"> => ({
  id,
  name: `token ${id}`,
  hash: `hash of ${id}`,
  scopes: ["inbox:read", "inbox:write"],
  tenants: ["acme", "umbrella"],
  created_at: START,
  expires_at: null,
  ...given,
});

export function registryContract(it: It): void {
  it("creates a tenant once, and changes only what is given", async ({ store }) => {
    const fresh = { seq: 0, pruned_seq: 0, pending: 0, bytes: 0 };
    expect(await store.getTenant("acme")).toBeUndefined();
    expect(await store.putTenant({ id: "acme", at: START })).toEqual({
      id: "acme",
      name: null,
      created_at: START,
      quota: null,
      ...fresh,
    });
    await store.putTenant({ id: "acme", name: "Acme", at: START + 1 });
    await store.putTenant({ id: "acme", quota: 5, at: START + 2 });
    const acme = { id: "acme", name: "Acme", created_at: START, quota: 5, ...fresh };
    expect(await store.putTenant({ id: "acme", at: START + 3 })).toEqual(acme);
    expect(await store.getTenant("acme")).toEqual(acme);
    expect(await store.putTenant({ id: "acme", name: null, quota: null, at: START })).toMatchObject(
      {
        name: null,
        quota: null,
      },
    );
  });

  it("knows a tenant from its first event on", async ({ store }) => {
    const event = sampleEvent({ received_at: START + 9 });
    await keep(store, [event]);
    await store.putTenant({ id: "acme", name: "Acme", at: START + 50 });
    expect(await store.getTenant("acme")).toEqual({
      id: "acme",
      name: "Acme",
      created_at: START + 9,
      seq: 1,
      pruned_seq: 0,
      pending: 1,
      bytes: event.body.byteLength,
      quota: null,
    });
  });

  it("lists tenants by id, in the order of their bytes on every engine", async ({ store }) => {
    // Linguistic orders differ from engine to engine: a-b, a_b, aB, ab.
    const sorted = ["10", "9", "B", "a", "a-b", "aB", "a_b", "ab", "b", "é"];
    for (const id of sorted.toReversed()) await store.putTenant({ id, at: START });
    const walked: string[] = [];
    for (let page = await store.listTenants("", 3); page.length > 0; ) {
      walked.push(...page.map(({ id }) => id));
      page = await store.listTenants(nth(walked, -1), 3);
    }
    expect(walked).toEqual(sorted);
  });

  it("maps an installation to its tenant, moves it, and remembers its removal", async ({
    store,
  }) => {
    expect(await store.findInstallation("7")).toBeUndefined();
    await store.putInstallation({ id: "7", tenant: "acme", account: "acme-inc" }, START);
    expect(await store.findInstallation("7")).toEqual({
      id: "7",
      tenant: "acme",
      account: "acme-inc",
      removed_at: null,
    });
    expect(await store.getTenant("acme")).toMatchObject({ name: "acme-inc", created_at: START });

    await store.putInstallation({ id: "7", tenant: "umbrella", account: "umbrella" }, START + 1);
    expect(await store.findInstallation("7")).toMatchObject({
      tenant: "umbrella",
      account: "umbrella",
    });
    expect(await store.getTenant("acme")).toMatchObject({ name: "acme-inc" });

    await store.removeInstallation("7", START + 2);
    await store.removeInstallation("no such", START + 2);
    expect(await store.findInstallation("7")).toMatchObject({
      tenant: "umbrella",
      removed_at: START + 2,
    });
    expect(await store.findInstallation("no such")).toBeUndefined();
    await store.putInstallation({ id: "7", tenant: "umbrella", account: "umbrella" }, START + 3);
    expect(await store.findInstallation("7")).toMatchObject({ removed_at: null });
  });

  it("does not forget a tenant's name or quota over an installation without an account", async ({
    store,
  }) => {
    await store.putTenant({ id: "acme", name: "Acme", quota: 5, at: START });
    await store.putInstallation({ id: "7", tenant: "acme", account: null }, START + 1);
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

  it("never takes a second token of the same id or hash", async ({ store }) => {
    expect(await store.putToken(token("a"))).toBe(true);
    expect(await store.putToken(token("b", { hash: "hash of a", scopes: ["admin"] }))).toBe(false);
    expect(await store.putToken(token("a", { hash: "other", scopes: ["admin"] }))).toBe(false);
    expect(await store.listTokens()).toEqual([{ ...token("a"), revoked_at: null }]);
  });

  it("lists tokens by age, and revokes each once", async ({ store }) => {
    await store.putToken(token("young", { created_at: START + 5 }));
    await store.putToken(token("old", { tenants: [], scopes: ["admin"] }));
    expect((await store.listTokens()).map(({ id }) => id)).toEqual(["old", "young"]);
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

  it("says that it can be written to", async ({ store }) => {
    await store.checkWritable(START);
    await store.checkWritable(START + 1);
  });
}
