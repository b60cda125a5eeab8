import { generateKeyPairSync } from "node:crypto";
import { describe, expect, it } from "vitest";
import { toPkcs8 } from "./rsa-key.ts";

const { privateKey } = generateKeyPairSync("rsa", { modulusLength: 2048 });
const pkcs1 = privateKey.export({ type: "pkcs1", format: "pem" }) as string;
const pkcs8 = privateKey.export({ type: "pkcs8", format: "pem" }) as string;
const der = new Uint8Array(privateKey.export({ type: "pkcs8", format: "der" }));

describe("toPkcs8", () => {
  it.each([
    ["PKCS#1", pkcs1],
    ["PKCS#8", pkcs8],
    ["escaped line breaks", pkcs1.replaceAll("\n", "\\n")],
    ["Windows line breaks", pkcs1.replaceAll("\n", "\r\n")],
  ])("returns the same PKCS#8 bytes as OpenSSL for %s", (_, pem) => {
    expect(toPkcs8(pem)).toEqual(der);
  });

  it.each([
    ["hello", "is not a private key in PEM format"],
    [pkcs1.replace(/END.*/, ""), "is not a private key in PEM format"],
    [
      privateKey.export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "x" }),
      "is an encrypted private key, which the hub cannot read",
    ],
    [
      privateKey.export({ type: "pkcs1", format: "pem", cipher: "aes-256-cbc", passphrase: "x" }),
      "is an encrypted private key, which the hub cannot read",
    ],
    [
      generateKeyPairSync("rsa", { modulusLength: 2048 }).publicKey.export({
        type: "spki",
        format: "pem",
      }),
      "is a PUBLIC KEY, not an RSA private key",
    ],
    [
      "-----BEGIN PRIVATE KEY-----\n%%%\n-----END PRIVATE KEY-----",
      "is not valid base64 between its BEGIN and END lines",
    ],
  ])("describes the problem of an invalid key: case %#", (pem, problem) => {
    expect(toPkcs8(String(pem))).toBe(problem);
  });
});
