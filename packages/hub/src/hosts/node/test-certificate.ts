/** Creates a self-signed certificate for a test, so that no key is stored in a file. */
import { generateKeyPairSync, sign } from "node:crypto";

/** Encodes a value in DER. The tags are numbers of ASN.1. */
const der = (tag: number, ...parts: Uint8Array[]): Buffer => {
  const content = Buffer.concat(parts);
  const size = content.byteLength;
  const length = size < 128 ? [size] : size < 256 ? [0x81, size] : [0x82, size >> 8, size & 255];
  return Buffer.concat([Buffer.from([tag, ...length]), content]);
};
const sequence = (...parts: Uint8Array[]) => der(0x30, ...parts);
const oid = (...bytes: number[]) => der(0x06, Buffer.from(bytes));
const text = (tag: number, value: string) => der(tag, Buffer.from(value));
const pem = (label: string, bytes: Buffer) =>
  `-----BEGIN ${label}-----\n${bytes.toString("base64")}\n-----END ${label}-----\n`;

/** Chromium does not support Ed25519 in certificates. */
const ECDSA_WITH_SHA256 = sequence(oid(0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02));
const COMMON_NAME = oid(0x55, 0x04, 0x03);
const SUBJECT_ALT_NAME = oid(0x55, 0x1d, 0x11);

export function makeCertificate({
  names = [] as string[],
  ipv4 = [] as string[],
  until = "20990101000000Z",
}): { key: string; cert: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const name = sequence(der(0x31, sequence(COMMON_NAME, text(0x0c, "signalbox test"))));
  const altNames = [
    ...names.map((dnsName) => text(0x82, dnsName)),
    ...ipv4.map((address) => der(0x87, Buffer.from(address.split(".").map(Number)))),
  ];
  const body = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))), // version 3
    der(0x02, Buffer.from([1])), // serial number
    ECDSA_WITH_SHA256,
    name,
    sequence(text(0x18, "20000101000000Z"), text(0x18, until)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
    der(0xa3, sequence(sequence(SUBJECT_ALT_NAME, der(0x04, sequence(...altNames))))),
  );
  const signature = der(0x03, Buffer.from([0]), sign("sha256", body, privateKey));
  return {
    key: privateKey.export({ type: "pkcs8", format: "pem" }).toString(),
    cert: pem("CERTIFICATE", sequence(body, ECDSA_WITH_SHA256, signature)),
  };
}
