import { expect, it } from "vitest";
import { CannotUnseal, createSeal, parseKeys } from "./seal.ts";

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

it("decrypts with former keys, and encrypts with the first", async () => {
  const former = await createSeal(key(1)).seal("s3cret");
  const { seal, unseal } = createSeal(key(2), [key(3), key(1)]);
  expect(await unseal(former)).toBe("s3cret");
  expect(await createSeal(key(2)).unseal(await seal("new"))).toBe("new");
  await expect(unseal(await createSeal(key(4)).seal("x"))).rejects.toBeInstanceOf(CannotUnseal);
});

it("parses keys that are separated by commas or lines, and rejects the text if one is invalid", () => {
  const text = (byte: number) => btoa(String.fromCharCode(...key(byte)));
  expect(parseKeys(text(1))).toEqual([key(1)]);
  expect(parseKeys(`${text(1)}, ${text(2)}`)).toEqual([key(1), key(2)]);
  expect(parseKeys(`${text(1)}\n${text(2)}\n`)).toEqual([key(1), key(2)]);
  for (const invalid of ["", "short", `${text(1)},`, `${text(1)},short`, `,${text(1)}`])
    expect(parseKeys(invalid)).toBeUndefined();
});
