import { expect, it } from "vitest";
import { CannotUnseal, createSeal } from "./seal.ts";

const key = (byte: number) => new Uint8Array(32).fill(byte);

it("decrypts what it has encrypted, and never returns the same ciphertext twice", async () => {
  const { seal, unseal } = createSeal(key(1));
  const [a, b] = [await seal("s3cret ü"), await seal("s3cret ü")];
  expect(a).not.toBe(b);
  expect(a).not.toContain("s3cret");
  expect([await unseal(a), await unseal(b)]).toEqual(["s3cret ü", "s3cret ü"]);
});

it("rejects invalid values, changed values and values of another key, and names the fix", async () => {
  const sealed = await createSeal(key(1)).seal("s3cret");
  await expect(createSeal(key(2)).unseal(sealed)).rejects.toThrow(/SIGNALBOX_KEY/);
  const changed = sealed.slice(0, -6) + (sealed.at(-6) === "A" ? "B" : "A") + sealed.slice(-5);
  await expect(createSeal(key(1)).unseal(changed)).rejects.toBeInstanceOf(CannotUnseal);
  await expect(createSeal(key(1)).unseal("nonsense")).rejects.toBeInstanceOf(CannotUnseal);
});
