import { expect } from "vitest";
import type { Source, SourceSecret } from "../store.ts";
import { START } from "./sample.ts";
import type { It } from "./subject.ts";

const source = (id: string, given: Partial<Source> = {}): Omit<Source, "secrets"> => ({
  id,
  tenant: "acme",
  kind: "stripe",
  name: `source ${id}`,
  key: `key-of-${id}`,
  config: { header: "x-signature", nested: { list: [1, "zwei", null] } },
  created_at: START,
  ...given,
});

const secret = (id: string, given: Partial<SourceSecret> = {}): SourceSecret => ({
  id,
  sealed: `sealed ${id}`,
  created_at: START,
  expires_at: null,
  ...given,
});

export function sourcesContract(it: It): void {
  it("finds a source by its key, with its secrets sorted by age", async ({ store }) => {
    await store.putSource(source("a"));
    expect(await store.findSource("key-of-a")).toEqual({ ...source("a"), secrets: [] });
    const [young, old] = [
      secret("young", { created_at: START + 1 }),
      secret("old", { expires_at: START + 9 }),
    ];
    expect(await store.addSourceSecret("a", young)).toBe(true);
    expect(await store.addSourceSecret("a", old)).toBe(true);
    expect(await store.findSource("key-of-a")).toEqual({ ...source("a"), secrets: [old, young] });
    expect(await store.findSource("a")).toBeUndefined();
    expect(await store.findSource("KEY-OF-A")).toBeUndefined();
  });

  it("stores a source together with its first secret, or not at all", async ({ store }) => {
    await store.putSource(source("a"), secret("s"));
    expect(await store.findSource("key-of-a")).toEqual({ ...source("a"), secrets: [secret("s")] });
    await expect(store.putSource(source("b"), secret("s"))).rejects.toThrow();
    expect(await store.findSource("key-of-b")).toBeUndefined();
  });

  it("rejects a secret for a missing source, and a duplicate secret", async ({ store }) => {
    expect(await store.addSourceSecret("no such", secret("s"))).toBe(false);
    await store.putSource(source("no such"));
    expect(await store.findSource("key-of-no such")).toMatchObject({ secrets: [] });
    await store.addSourceSecret("no such", secret("s"));
    await expect(
      store.addSourceSecret("no such", secret("s", { sealed: "other" })),
    ).rejects.toThrow();
  });

  it("expires a secret of the given source only", async ({ store }) => {
    await store.putSource(source("a"));
    await store.putSource(source("b"));
    await store.addSourceSecret("a", secret("s"));
    await store.addSourceSecret("b", secret("t"));
    expect(await store.expireSourceSecret("b", "s", START + 5)).toBe(false);
    expect(await store.expireSourceSecret("a", "t", START + 5)).toBe(false);
    expect(await store.expireSourceSecret("a", "s", START + 5)).toBe(true);
    expect(await store.findSource("key-of-a")).toMatchObject({
      secrets: [{ id: "s", expires_at: START + 5 }],
    });
  });

  it("changes name and settings, but not tenant, kind, key or creation time", async ({ store }) => {
    await store.putSource(source("a"));
    await store.addSourceSecret("a", secret("s"));
    await store.putSource(
      source("a", {
        tenant: "umbrella",
        kind: "slack",
        key: "other",
        created_at: 1,
        name: "new",
        config: {},
      }),
    );
    expect(await store.findSource("key-of-a")).toEqual({
      ...source("a", { name: "new", config: {} }),
      secrets: [secret("s")],
    });
    expect(await store.findSource("other")).toBeUndefined();
  });

  it("rejects a second source with the same key", async ({ store }) => {
    await store.putSource(source("a"));
    await expect(store.putSource(source("b", { key: "key-of-a" }))).rejects.toThrow();
    expect(await store.listSources()).toEqual([{ ...source("a"), secrets: [] }]);
  });

  it("lists sources by age, of all tenants or one", async ({ store }) => {
    await store.putSource(source("young", { created_at: START + 1 }));
    await store.putSource(source("old"));
    await store.putSource(source("theirs", { tenant: "umbrella", created_at: START + 2 }));
    for (const id of ["young", "old", "theirs"])
      for (const nth of [1, 2]) await store.addSourceSecret(id, secret(`${id}-${nth}`));
    const listed = async (tenant?: string) =>
      (await store.listSources(tenant)).map(({ id, secrets }) => [
        id,
        ...secrets.map((one) => one.id),
      ]);
    const mine = [
      ["old", "old-1", "old-2"],
      ["young", "young-1", "young-2"],
    ];
    expect(await listed("acme")).toEqual(mine);
    expect(await listed()).toEqual([...mine, ["theirs", "theirs-1", "theirs-2"]]);
    expect(await listed("nobody")).toEqual([]);
  });

  it("deletes a source with its secrets, and no other", async ({ store }) => {
    for (const id of ["a", "b"]) {
      await store.putSource(source(id));
      await store.addSourceSecret(id, secret(`s of ${id}`));
    }
    expect(await store.deleteSource("a")).toBe(true);
    expect(await store.deleteSource("a")).toBe(false);
    expect(await store.findSource("key-of-a")).toBeUndefined();
    await store.putSource(source("a"));
    expect(await store.listSources()).toMatchObject([
      { id: "a", secrets: [] },
      { id: "b", secrets: [{ id: "s of b" }] },
    ]);
  });
}
