/**
 * Signature schemes. A scheme both verifies and signs: `signalbox send` and the tests sign with it, so
 * both sides stay consistent.
 */
import { equalBytes, fromBase64, fromHex, toBase64, toHex, utf8 } from "../../kernel/lib/bytes.ts";
import { type HmacKey, type MakeHmacKey, webHmacKey } from "../../kernel/lib/hmac.ts";
import type { MaybePromise } from "../../kernel/lib/maybe-promise.ts";

/** The result of verifying a signature. */
export type SignatureStatus = "valid" | "missing" | "malformed" | "mismatch" | "expired";

/** A secret, prepared for its scheme once when the endpoint is loaded. */
export interface SigningKey {
  hmac: HmacKey;
  /** The secret itself, for schemes that send it. */
  text: Uint8Array;
}

export const makeSigningKey = (
  scheme: SignatureScheme,
  secret: string,
  makeHmacKey: MakeHmacKey = webHmacKey,
): SigningKey => ({ hmac: makeHmacKey(scheme.keyBytes(secret)), text: utf8(secret) });

type GetHeader = (name: string) => string | undefined;

export interface SignedRequest {
  header: GetHeader;
  body: Uint8Array;
  now: number;
}

interface ToSign {
  body: Uint8Array;
  now: number;
  /** The delivery id. */
  id: string;
}

export interface SignatureScheme {
  /** What the scheme authenticates: most schemes sign the body, a bearer token does not. */
  covers: "body" | "credential";
  /** The headers that the scheme reads, for error messages. */
  reads: string;
  /** The headers that are stored with the payload, so that it can be verified again. */
  headers: readonly string[];
  /** The headers that contain the secret itself. */
  credentials: readonly string[];
  /** Converts a secret to the bytes of the HMAC key. */
  keyBytes(secret: string): Uint8Array;
  /**
   * Returns whether the request has the headers of the scheme. Otherwise `verify` returns "missing".
   */
  isPresent(header: GetHeader): boolean;
  verify(request: SignedRequest, key: SigningKey): MaybePromise<SignatureStatus>;
  sign(request: ToSign, key: SigningKey): MaybePromise<Record<string, string>>;
}

/** The maximum difference between the signed time and the clock. Protects against replays. */
const TOLERANCE_MS = 5 * 60 * 1000;

interface ParsedSignature {
  signatures: (Uint8Array | undefined)[];
  /** The text that is signed before the body. */
  signedPrefix?: string;
  /** Unix time in seconds, as the sender formats it. */
  timestamp?: string;
}

interface HmacOptions {
  headers: readonly string[];
  keyBytes?: (secret: string) => Uint8Array;
  parse(header: GetHeader): ParsedSignature | "missing" | "malformed";
  /** Returns the text that is signed before the body. */
  signedPrefix?(request: ToSign): string;
  /** Returns the headers with the signature. */
  write(signature: Uint8Array, request: ToSign): Record<string, string>;
}

function hmacScheme(options: HmacOptions): SignatureScheme {
  return {
    covers: "body",
    reads: options.headers.join(", "),
    headers: options.headers,
    credentials: [],
    keyBytes: options.keyBytes ?? utf8,
    isPresent: (header) => options.headers.every((name) => header(name)),
    verify(request, key) {
      const parsed = options.parse(request.header);
      if (typeof parsed === "string") return parsed;
      const { signatures, signedPrefix, timestamp } = parsed;
      if (timestamp !== undefined) {
        if (!/^\d{1,12}$/.test(timestamp)) return "malformed";
        if (Math.abs(request.now - Number(timestamp) * 1000) > TOLERANCE_MS) return "expired";
      }
      const compare = (expected: Uint8Array): SignatureStatus =>
        signatures.some((given) => given !== undefined && equalBytes(given, expected))
          ? "valid"
          : "mismatch";
      const signing = key.hmac.sign(signedChunks(signedPrefix, request.body));
      return signing instanceof Promise ? signing.then(compare) : compare(signing);
    },
    async sign(request, key) {
      const signature = await key.hmac.sign(
        signedChunks(options.signedPrefix?.(request), request.body),
      );
      return options.write(signature, request);
    },
  };
}

const signedChunks = (prefix: string | undefined, body: Uint8Array): Uint8Array[] =>
  prefix === undefined ? [body] : [utf8(prefix), body];

export interface HmacHeader {
  header: string;
  /** The text before the signature in the header, such as `sha256=`. */
  prefix?: string;
  encoding?: "hex" | "base64";
}

/** One header with the HMAC of the body, as GitHub, Linear and most custom senders send it. */
export function hmacSha256({ header, prefix = "", encoding = "hex" }: HmacHeader): SignatureScheme {
  const name = header.toLowerCase();
  return hmacScheme({
    headers: [name],
    parse(get) {
      const value = get(name);
      if (!value) return "missing";
      if (!value.startsWith(prefix)) return "malformed";
      const text = value.slice(prefix.length);
      const signature = encoding === "hex" ? fromHex(text) : fromBase64(text);
      return signature ? { signatures: [signature] } : "malformed";
    },
    write: (signature) => ({
      [name]: prefix + (encoding === "hex" ? toHex(signature) : toBase64(signature)),
    }),
  });
}

const toSeconds = (ms: number) => String(Math.floor(ms / 1000));

/** `Stripe-Signature: t=…,v1=…`, with several `v1` during the rotation of a secret. */
export const stripeSignature: SignatureScheme = hmacScheme({
  headers: ["stripe-signature"],
  parse(get) {
    const value = get("stripe-signature");
    if (!value) return "missing";
    const pairs = value.split(",").map((pair) => pair.trim().split("="));
    const timestamp = pairs.find(([name]) => name === "t")?.[1];
    const signatures = pairs
      .filter(([name]) => name === "v1")
      .map(([, text]) => fromHex(text ?? ""));
    if (timestamp === undefined || signatures.length === 0) return "malformed";
    return { signatures, timestamp, signedPrefix: `${timestamp}.` };
  },
  signedPrefix: ({ now }) => `${toSeconds(now)}.`,
  write: (signature, { now }) => ({
    "stripe-signature": `t=${toSeconds(now)},v1=${toHex(signature)}`,
  }),
});

export const slackSignature: SignatureScheme = hmacScheme({
  headers: ["x-slack-signature", "x-slack-request-timestamp"],
  parse(get) {
    const value = get("x-slack-signature");
    const timestamp = get("x-slack-request-timestamp");
    if (!value || !timestamp) return "missing";
    const signature = value.startsWith("v0=") ? fromHex(value.slice(3)) : undefined;
    return signature
      ? { signatures: [signature], timestamp, signedPrefix: `v0:${timestamp}:` }
      : "malformed";
  },
  signedPrefix: ({ now }) => `v0:${toSeconds(now)}:`,
  write: (signature, { now }) => ({
    "x-slack-signature": `v0=${toHex(signature)}`,
    "x-slack-request-timestamp": toSeconds(now),
  }),
});

/** https://www.standardwebhooks.com: a secret is `whsec_` and base64, a signature `v1,` and base64. */
export const standardSignature = standardScheme("webhook");

/** The same scheme with the header names that senders with Svix use. */
export const svixSignature = standardScheme("svix");

function standardScheme(headerPrefix: "webhook" | "svix"): SignatureScheme {
  const [idHeader, timeHeader, signatureHeader] = [
    `${headerPrefix}-id`,
    `${headerPrefix}-timestamp`,
    `${headerPrefix}-signature`,
  ] as const;
  return hmacScheme({
    headers: [idHeader, timeHeader, signatureHeader],
    keyBytes(secret) {
      const bytes = fromBase64(secret.startsWith("whsec_") ? secret.slice(6) : secret);
      return bytes && bytes.length > 0 ? bytes : utf8(secret); // Web Crypto cannot import an empty key
    },
    parse(get) {
      const id = get(idHeader);
      const timestamp = get(timeHeader);
      const value = get(signatureHeader);
      if (!id || !timestamp || !value) return "missing";
      const signatures = value
        .split(" ")
        .filter((part) => part.startsWith("v1,"))
        .map((part) => fromBase64(part.slice(3)));
      if (signatures.length === 0) return "malformed";
      return { signatures, timestamp, signedPrefix: `${id}.${timestamp}.` };
    },
    signedPrefix: ({ id, now }) => `${id}.${toSeconds(now)}.`,
    write: (signature, { id, now }) => ({
      [idHeader]: id,
      [timeHeader]: toSeconds(now),
      [signatureHeader]: `v1,${toBase64(signature)}`,
    }),
  });
}

/** The secret itself in a header. It authenticates the sender but not the body: use TLS. */
export function sharedToken({
  header,
  prefix = "",
}: {
  header: string;
  prefix?: string;
}): SignatureScheme {
  const name = header.toLowerCase();
  return {
    covers: "credential",
    reads: name,
    headers: [], // the header is the secret, so it is never stored
    credentials: [name],
    keyBytes: utf8,
    isPresent: (header) => Boolean(header(name)),
    async verify(request, key) {
      const value = request.header(name);
      if (!value) return "missing";
      if (!value.toLowerCase().startsWith(prefix.toLowerCase())) return "malformed";
      const given = utf8(value.slice(prefix.length));
      // MACs are compared, so that the timing does not reveal the length of the secret.
      const givenMac = await key.hmac.sign([given]);
      const expectedMac = await key.hmac.sign([key.text]);
      return equalBytes(givenMac, expectedMac) ? "valid" : "mismatch";
    },
    sign: (_, key) => ({ [name]: prefix + new TextDecoder().decode(key.text) }),
  };
}

export const bearer: SignatureScheme = sharedToken({ header: "authorization", prefix: "Bearer " });

/** Verifies a request with the first scheme whose headers are present. Signs with the first scheme. */
export const firstOf = (...schemes: Schemes): SignatureScheme =>
  combine(
    schemes,
    (request, key) =>
      schemes.find((scheme) => scheme.isPresent(request.header))?.verify(request, key) ?? "missing",
  );

/**
 * For senders that send several signatures: a request is valid if any scheme verifies it. Otherwise
 * the first status other than "missing" is returned. Signs with the first scheme.
 */
export const anyOf = (...schemes: Schemes): SignatureScheme =>
  combine(schemes, async (request, key) => {
    let first: SignatureStatus = "missing";
    for (const scheme of schemes) {
      const status = await scheme.verify(request, key);
      if (status === "valid") return status;
      if (first === "missing") first = status;
    }
    return first;
  });

type Schemes = [SignatureScheme, ...SignatureScheme[]];

const combine = (schemes: Schemes, verify: SignatureScheme["verify"]): SignatureScheme => ({
  covers: schemes[0].covers,
  reads: schemes.map((scheme) => scheme.reads).join(" or "),
  headers: schemes.flatMap((scheme) => scheme.headers),
  credentials: schemes.flatMap((scheme) => scheme.credentials),
  keyBytes: schemes[0].keyBytes,
  isPresent: (header) => schemes.some((scheme) => scheme.isPresent(header)),
  verify,
  sign: (request, key) => schemes[0].sign(request, key),
});
