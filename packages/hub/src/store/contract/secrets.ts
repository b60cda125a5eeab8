import { expect } from "vitest";
import { START } from "./sample.ts";
import type { It } from "./subject.ts";

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
}
