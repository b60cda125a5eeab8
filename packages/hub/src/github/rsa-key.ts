/**
 * Reads the private key of a GitHub App. GitHub issues PKCS#1 ("BEGIN RSA PRIVATE KEY"), but Web Crypto
 * imports only PKCS#8, which wraps the same bytes into a header that names the algorithm.
 */
import { concat, fromBase64 } from "../kernel/lib/bytes.ts";

const PEM = /-----BEGIN ([A-Z0-9 ]+)-----([\s\S]*?)-----END \1-----/;

/** Returns the key as PKCS#8, or the problem as the predicate of a sentence. */
export function toPkcs8(pem: string): Uint8Array<ArrayBuffer> | string {
  const [, label, body = ""] = PEM.exec(unescapeLines(pem)) ?? [];
  if (label === undefined) return "is not a private key in PEM format";
  if (body.includes(":") || label === "ENCRYPTED PRIVATE KEY")
    return "is an encrypted private key, which the hub cannot read";
  const der = fromBase64(body.replace(/\s/g, ""));
  if (!der) return "is not valid base64 between its BEGIN and END lines";
  if (label === "PRIVATE KEY") return new Uint8Array(der);
  if (label === "RSA PRIVATE KEY") return wrapPkcs1(der);
  return `is a ${label}, not an RSA private key`;
}

/** An environment variable with one line, as in Docker's env files, contains "\n" as two characters. */
const unescapeLines = (pem: string): string => pem.replaceAll("\\n", "\n");

/** The bytes before the key in PKCS#8: INTEGER 0 and SEQUENCE { OID rsaEncryption, NULL }. */
const RSA_HEADER = Uint8Array.of(
  ...[0x02, 0x01, 0x00, 0x30, 0x0d, 0x06, 0x09],
  ...[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01, 0x05, 0x00],
);

const wrapPkcs1 = (key: Uint8Array): Uint8Array<ArrayBuffer> =>
  derValue(SEQUENCE, concat([RSA_HEADER, derValue(OCTET_STRING, key)]));

const SEQUENCE = 0x30;
const OCTET_STRING = 0x04;

/** Encodes a value in DER: tag, length, content. */
function derValue(tag: number, content: Uint8Array): Uint8Array<ArrayBuffer> {
  const size: number[] = [];
  for (let remaining = content.byteLength; remaining > 0; remaining >>= 8)
    size.unshift(remaining & 0xff);
  const length = content.byteLength < 0x80 ? size : [0x80 | size.length, ...size];
  return concat([Uint8Array.of(tag, ...length), content]);
}
