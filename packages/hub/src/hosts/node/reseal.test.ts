import { expect, it } from "vitest";
import type { SealedText } from "../../flows/secrets/store.ts";
import { createSeal } from "../../kernel/lib/seal.ts";
import { resealAll } from "./stored-secrets.ts";

const key = (byte: number) => new Uint8Array(32).fill(byte);

/** A store that pages through these texts one by one. */
function createStore(texts: string[]) {
  const stored = texts.map((text, at): SealedText => ({ column: "c", key: [`${at}`], text }));
  return {
    texts: () => stored.map(({ text }) => text),
    listSealed: async (after: Pick<SealedText, "key"> | undefined) =>
      stored
        .slice(Number(after?.key[0] ?? -1) + 1)
        .slice(0, 1)
        .map((text) => ({ ...text })),
    async replaceSealed(changes: readonly (SealedText & { by: string })[]) {
      for (const {
        key: [at],
        by,
      } of changes)
        (stored[Number(at)] as SealedText).text = by;
      return changes.length;
    },
  };
}

it("encrypts with the first key what a former key has encrypted, also in lists, and can be repeated", async () => {
  const [former, current, lost] = [createSeal(key(1)), createSeal(key(2)), createSeal(key(3))];
  const unchanged = await current.seal("new");
  const unreadable = await lost.seal("lost");
  const servers = [
    { revision: 1, sealed: await former.seal("b") },
    { revision: 2, sealed: null },
  ];
  const store = createStore([
    await former.seal("a"),
    unchanged,
    unreadable,
    JSON.stringify(servers),
    "[]",
  ]);
  const keys: [Uint8Array, Uint8Array] = [key(2), key(1)];
  expect(await resealAll(store, keys)).toEqual({ resealed: 2, unreadable: 1 });
  const [a = "", second, third, list = ""] = store.texts();
  expect(await current.unseal(a)).toBe("a");
  expect([second, third]).toEqual([unchanged, unreadable]);
  const [first, other] = JSON.parse(list);
  expect(first.revision).toBe(1);
  expect(await current.unseal(first.sealed)).toBe("b");
  expect(other).toEqual({ revision: 2, sealed: null });
  expect(await resealAll(store, keys)).toEqual({ resealed: 0, unreadable: 1 });
});
