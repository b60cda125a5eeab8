import { expect } from "vitest";
import { START } from "../../events/store/contract/sample.ts";
import type { It } from "../../kernel/store/contract/subject.ts";
import type { SealedText } from "./store.ts";

export function secretsContract(it: It): void {
  it("are listed by name only, and returned encrypted", async ({ store, reopen }) => {
    await store.putSecret("acme", "TOKEN", "sealed 1", START);
    await store.putSecret("acme", "KEY", "sealed 2", START + 1);
    await store.putSecret("umbrella", "TOKEN", "sealed 3", START);
    await store.putSecret("acme", "TOKEN", "sealed 4", START + 2);
    const reopened = await reopen();
    expect(await reopened.listSecretNames("acme")).toEqual([
      { name: "KEY", created_at: START + 1, updated_at: START + 1 },
      { name: "TOKEN", created_at: START, updated_at: START + 2 },
    ]);
    expect(await reopened.getSecrets("acme", ["TOKEN", "KEY", "NONE", "TOKEN"])).toEqual({
      TOKEN: "sealed 4",
      KEY: "sealed 2",
    });
    expect(await reopened.getSecrets("acme", [])).toEqual({});
    expect(await reopened.getSecrets("umbrella", ["KEY", "TOKEN"])).toEqual({ TOKEN: "sealed 3" });
  });

  it("are deleted for one tenant only", async ({ store }) => {
    await store.putSecret("acme", "TOKEN", "sealed", START);
    expect(await store.deleteSecret("umbrella", "TOKEN")).toBe(false);
    expect(await store.deleteSecret("acme", "TOKEN")).toBe(true);
    expect(await store.deleteSecret("acme", "TOKEN")).toBe(false);
    expect(await store.getSecrets("acme", ["TOKEN"])).toEqual({});
    expect(await store.listSecretNames("acme")).toEqual([]);
  });

  it("are sampled to check the hub's key: the newest secret of each kind", async ({ store }) => {
    expect(await store.sampleSealed()).toEqual([]);
    await store.putSecret("acme", "OLD", "sealed 1", START);
    await store.putSecret("acme", "NEW", "sealed 2", START + 1);
    expect(await store.sampleSealed()).toEqual([{ kind: "secrets of flows", sealed: "sealed 2" }]);
  });

  it("are listed with all other sealed texts, in pages, and replaced unless they have changed", async ({
    store,
  }) => {
    expect(await store.listSealed(undefined, 10)).toEqual([]);
    for (const [tenant, name] of [
      ["acme", "A"],
      ["acme", "B"],
      ["umbrella", "A"],
    ] as const)
      await store.putSecret(tenant, name, `sealed ${tenant} ${name}`, START);
    const credentials = { target: { url: "https://a.example" }, credentials: {} };
    const connection = { id: "one", tenant: "acme", name: "one", ...credentials };
    await store.createConnection({ ...connection, sealed: "sealed connection" }, START);

    const listed: SealedText[] = [];
    for (let after: SealedText | undefined; ; after = listed.at(-1)) {
      const page = await store.listSealed(after, 2);
      expect(page.length).toBeLessThanOrEqual(2);
      if (page.length === 0) break;
      listed.push(...page);
    }
    expect(listed).toEqual([
      { column: "secrets.sealed", key: ["acme", "A"], text: "sealed acme A" },
      { column: "secrets.sealed", key: ["acme", "B"], text: "sealed acme B" },
      { column: "secrets.sealed", key: ["umbrella", "A"], text: "sealed umbrella A" },
      { column: "connections.sealed", key: ["one"], text: "sealed connection" },
      { column: "connections.former", key: ["one"], text: "[]" },
    ]);

    await store.putSecret("acme", "B", "changed", START + 1);
    const changes = listed.map((sealed) => ({ ...sealed, by: `new ${sealed.text}` }));
    expect(await store.replaceSealed(changes.slice(0, 4))).toBe(3);
    expect(await store.getSecrets("acme", ["A", "B"])).toEqual({
      A: "new sealed acme A",
      B: "changed",
    });
    expect(await store.getConnection("acme", "one")).toMatchObject({
      sealed: "new sealed connection",
    });
    expect(await store.replaceSealed([])).toBe(0);
  });
}
