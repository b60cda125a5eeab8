/**
 * Signature schemes. A scheme both verifies and signs: `signalbox send` and the tests sign with it, so
 * both sides stay consistent.
 */
import {
  equalBytes,
  fromBase64,
  fromHex,
  type HmacKey,
  type MakeHmacKey,
  type MaybePromise,
  toBase64,
  toHex,
  utf8,
  webHmacKey,
} from "../lib/hmac.ts";

export type Verdict = "valid" | "missing" | "malformed" | "mismatch" | "expired";

/** A secret, prepared for its scheme once when the endpoint is loaded. */
export interface Key {
  hmac: HmacKey;
  text: Uint8Array;
}

export const makeKey = (
  scheme: SignatureScheme,
  secret: string,
  makeHmacKey: MakeHmacKey = webHmacKey,
): Key => ({ hmac: makeHmacKey(scheme.keyBytes(secret)), text: utf8(secret) });

export interface SignedRequest {
  header(name: string): string | undefined;
  body: Uint8Array;
  now: number;
}

interface ToSign {
  body: Uint8Array;
  now: number;
  id: string;
}

export interface SignatureScheme {
  /** What the scheme authenticates: most schemes sign the body, a bearer token does not. */
  covers: "body" | "credential";
  /** The headers that the scheme reads, in lower case. */
  reads: readonly string[];
  /** The headers that are stored with the payload, so that it can be verified again. */
  headers: readonly string[];
  /** Converts a secret to the bytes of the HMAC key. */
  keyBytes(secret: string): Uint8Array;
  verify(request: SignedRequest, key: Key): MaybePromise<Verdict>;
  sign(request: ToSign, key: Key): MaybePromise<Record<string, string>>;
}

/** The maximum difference between the signed time and the clock. Protects against replays. */
const TOLERANCE_MS = 5 * 60 * 1000;

interface Parsed {
  signatures: (Uint8Array | undefined)[];
  /** The signed text that precedes the body. */
  prefix?: string;
  /** Unix time in seconds, as the sender formats it. */
  timestamp?: string;
}

interface HmacOptions {
  headers: readonly string[];
  keyBytes?: (secret: string) => Uint8Array;
  parse(header: (name: string) => string | undefined): Parsed | "missing" | "malformed";
  /** The signed text that precedes the body. */
  prefix?(request: ToSign): string;
  /** The headers with the signature. */
  write(signature: Uint8Array, request: ToSign): Record<string, string>;
}

function hmacScheme(options: HmacOptions): SignatureScheme {
  return {
    covers: "body",
    reads: options.headers,
    headers: options.headers,
    keyBytes: options.keyBytes ?? utf8,
    verify(request, key) {
      const parsed = options.parse(request.header);
      if (typeof parsed === "string") return parsed;
      const { signatures, prefix, timestamp } = parsed;
      if (timestamp !== undefined) {
        if (!/^\d{1,12}$/.test(timestamp)) return "malformed";
        if (Math.abs(request.now - Number(timestamp) * 1000) > TOLERANCE_MS) return "expired";
      }
      const parts = prefix === undefined ? [request.body] : [utf8(prefix), request.body];
      const compare = (expected: Uint8Array): Verdict =>
        signatures.some((given) => given !== undefined && equalBytes(given, expected))
          ? "valid"
          : "mismatch";
      const signing = key.hmac.sign(parts);
      return signing instanceof Promise ? signing.then(compare) : compare(signing);
    },
    async sign(request, key) {
      const prefix = options.prefix?.(request);
      const signature = await key.hmac.sign(
        prefix === undefined ? [request.body] : [utf8(prefix), request.body],
      );
      return options.write(signature, request);
    },
  };
}

export interface HmacHeader {
  header: string;
  prefix?: string;
  encoding?: "hex" | "base64";
}

/** One header with the HMAC of the body, as GitHub, Linear and most custom senders use it. */
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

const seconds = (ms: number) => String(Math.floor(ms / 1000));

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
    return { signatures, timestamp, prefix: `${timestamp}.` };
  },
  prefix: ({ now }) => `${seconds(now)}.`,
  write: (signature, { now }) => ({
    "stripe-signature": `t=${seconds(now)},v1=${toHex(signature)}`,
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
      ? { signatures: [signature], timestamp, prefix: `v0:${timestamp}:` }
      : "malformed";
  },
  prefix: ({ now }) => `v0:${seconds(now)}:`,
  write: (signature, { now }) => ({
    "x-slack-signature": `v0=${toHex(signature)}`,
    "x-slack-request-timestamp": seconds(now),
  }),
});

/** https://www.standardwebhooks.com: a secret is `whsec_` and base64, a signature `v1,` and base64. */
export const standardSignature: SignatureScheme = hmacScheme({
  headers: ["webhook-id", "webhook-timestamp", "webhook-signature"],
  keyBytes(secret) {
    const bytes = fromBase64(secret.startsWith("whsec_") ? secret.slice(6) : secret);
    return bytes && bytes.length > 0 ? bytes : utf8(secret); // Web Crypto cannot import an empty key
  },
  parse(get) {
    const id = get("webhook-id");
    const timestamp = get("webhook-timestamp");
    const value = get("webhook-signature");
    if (!id || !timestamp || !value) return "missing";
    const signatures = value
      .split(" ")
      .filter((part) => part.startsWith("v1,"))
      .map((part) => fromBase64(part.slice(3)));
    if (signatures.length === 0) return "malformed";
    return { signatures, timestamp, prefix: `${id}.${timestamp}.` };
  },
  prefix: ({ id, now }) => `${id}.${seconds(now)}.`,
  write: (signature, { id, now }) => ({
    "webhook-id": id,
    "webhook-timestamp": seconds(now),
    "webhook-signature": `v1,${toBase64(signature)}`,
  }),
});

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
    reads: [name],
    headers: [], // the header is the secret, so it is never stored
    keyBytes: utf8,
    async verify(request, key) {
      const value = request.header(name);
      if (!value) return "missing";
      if (!value.toLowerCase().startsWith(prefix.toLowerCase())) return "malformed";
      const given = utf8(value.slice(prefix.length));
      // MACs are compared, so that the timing does not reveal the length of the secret.
      const [a, b] = [await key.hmac.sign([given]), await key.hmac.sign([key.text])];
      return equalBytes(a, b) ? "valid" : "mismatch";
    },
    sign: (_, key) => ({ [name]: prefix + new TextDecoder().decode(key.text) }),
  };
}

export const bearer: SignatureScheme = sharedToken({ header: "authorization", prefix: "Bearer " });

/** The first scheme whose headers are present verifies a request. The first argument signs. */
export const firstOf = (...schemes: Schemes): SignatureScheme =>
  combine(schemes, (verdict) => verdict !== "missing");

/**
 * For senders that send several signatures: a request is valid if any scheme verifies it. Otherwise
 * the first verdict other than "missing" is returned. The first argument signs.
 */
export const anyOf = (...schemes: Schemes): SignatureScheme =>
  combine(schemes, (verdict) => verdict === "valid");

type Schemes = [SignatureScheme, ...SignatureScheme[]];

function combine(schemes: Schemes, isFinal: (verdict: Verdict) => boolean): SignatureScheme {
  const [preferred] = schemes;
  return {
    covers: preferred.covers,
    reads: schemes.flatMap((scheme) => scheme.reads),
    headers: schemes.flatMap((scheme) => scheme.headers),
    keyBytes: preferred.keyBytes,
    async verify(request, key) {
      let first: Verdict = "missing";
      for (const scheme of schemes) {
        const verdict = await scheme.verify(request, key);
        if (isFinal(verdict)) return verdict;
        if (first === "missing") first = verdict;
      }
      return first;
    },
    sign: (request, key) => preferred.sign(request, key),
  };
}
