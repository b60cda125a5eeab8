import { expect } from "vitest";
import type { It } from "../../kernel/store/contract/subject.ts";
import { START } from "../store/contract/sample.ts";
import type { SourceEndpoint, SourceSecret } from "./model.ts";

const endpoint = (
  id: string,
  overrides: Partial<SourceEndpoint> = {},
): Omit<SourceEndpoint, "secrets"> => ({
  id,
  tenant: "acme",
  kind: "stripe",
  name: `endpoint ${id}`,
  key: `key-of-${id}`,
  config: { header: "x-signature", nested: { list: [1, "zwei", null] } },
  created_at: START,
  ...overrides,
});

const secret = (id: string, overrides: Partial<SourceSecret> = {}): SourceSecret => ({
  id,
  sealed: `sealed ${id}`,
  created_at: START,
  expires_at: null,
  ...overrides,
});

export function sourcesContract(it: It): void {
  it("finds an endpoint by its key, with its secrets sorted by age", async ({ store }) => {
    await store.putSource(endpoint("a"));
    expect(await store.findSource("key-of-a")).toEqual({ ...endpoint("a"), secrets: [] });
    const [young, old] = [
      secret("young", { created_at: START + 1 }),
      secret("old", { expires_at: START + 9 }),
    ];
    expect(await store.addSourceSecret("a", young)).toBe(true);
    expect(await store.addSourceSecret("a", old)).toBe(true);
    expect(await store.findSource("key-of-a")).toEqual({ ...endpoint("a"), secrets: [old, young] });
    expect(await store.findSource("a")).toBeUndefined();
    expect(await store.findSource("KEY-OF-A")).toBeUndefined();
  });

  it("stores an endpoint together with its first secret, or not at all", async ({ store }) => {
    await store.putSource(endpoint("a"), secret("s"));
    expect(await store.findSource("key-of-a")).toEqual({
      ...endpoint("a"),
      secrets: [secret("s")],
    });
    await expect(store.putSource(endpoint("b"), secret("s"))).rejects.toThrow();
    expect(await store.findSource("key-of-b")).toBeUndefined();
  });

  it("rejects a secret if its endpoint is unknown or its id exists", async ({ store }) => {
    expect(await store.addSourceSecret("later", secret("s"))).toBe(false);
    await store.putSource(endpoint("later"));
    expect(await store.findSource("key-of-later")).toMatchObject({ secrets: [] });
    await store.addSourceSecret("later", secret("s"));
    await expect(
      store.addSourceSecret("later", secret("s", { sealed: "other" })),
    ).rejects.toThrow();
  });

  it("expires a secret only for its own endpoint", async ({ store }) => {
    await store.putSource(endpoint("a"));
    await store.putSource(endpoint("b"));
    await store.addSourceSecret("a", secret("s"));
    await store.addSourceSecret("b", secret("t"));
    expect(await store.expireSourceSecret("b", "s", START + 5)).toBe(false);
    expect(await store.expireSourceSecret("a", "t", START + 5)).toBe(false);
    expect(await store.expireSourceSecret("a", "s", START + 5)).toBe(true);
    expect(await store.findSource("key-of-a")).toMatchObject({
      secrets: [{ id: "s", expires_at: START + 5 }],
    });
  });

  it("updates name and config, but not tenant, kind, key or creation time", async ({ store }) => {
    await store.putSource(endpoint("a"));
    await store.addSourceSecret("a", secret("s"));
    await store.putSource(
      endpoint("a", {
        tenant: "umbrella",
        kind: "slack",
        key: "other",
        created_at: 1,
        name: "new",
        config: {},
      }),
    );
    expect(await store.findSource("key-of-a")).toEqual({
      ...endpoint("a", { name: "new", config: {} }),
      secrets: [secret("s")],
    });
    expect(await store.findSource("other")).toBeUndefined();
  });

  it("rejects a second endpoint with the same key", async ({ store }) => {
    await store.putSource(endpoint("a"));
    await expect(store.putSource(endpoint("b", { key: "key-of-a" }))).rejects.toThrow();
    expect(await store.listSources()).toEqual([{ ...endpoint("a"), secrets: [] }]);
  });

  it("lists the endpoints of all tenants or of one, sorted by age", async ({ store }) => {
    await store.putSource(endpoint("young", { created_at: START + 1 }));
    await store.putSource(endpoint("old"));
    await store.putSource(endpoint("theirs", { tenant: "umbrella", created_at: START + 2 }));
    for (const id of ["young", "old", "theirs"])
      for (const number of [1, 2]) await store.addSourceSecret(id, secret(`${id}-${number}`));
    const listed = async (tenant?: string) =>
      (await store.listSources(tenant)).map(({ id, secrets }) => [
        id,
        ...secrets.map((stored) => stored.id),
      ]);
    const ofAcme = [
      ["old", "old-1", "old-2"],
      ["young", "young-1", "young-2"],
    ];
    expect(await listed("acme")).toEqual(ofAcme);
    expect(await listed()).toEqual([...ofAcme, ["theirs", "theirs-1", "theirs-2"]]);
    expect(await listed("nobody")).toEqual([]);
  });

  it("deletes an endpoint with its secrets, and no other endpoint", async ({ store }) => {
    for (const id of ["a", "b"]) {
      await store.putSource(endpoint(id));
      await store.addSourceSecret(id, secret(`s of ${id}`));
    }
    expect(await store.deleteSource("a")).toBe(true);
    expect(await store.deleteSource("a")).toBe(false);
    expect(await store.findSource("key-of-a")).toBeUndefined();
    await store.putSource(endpoint("a"));
    expect(await store.listSources()).toMatchObject([
      { id: "a", secrets: [] },
      { id: "b", secrets: [{ id: "s of b" }] },
    ]);
  });
}
