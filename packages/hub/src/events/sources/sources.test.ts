/** Tests properties of every source, whatever its signature scheme is. */
import { createHmac } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { toBase64, utf8 } from "../../kernel/lib/bytes.ts";
import { makeSigningKey, type SignatureStatus } from "../admit/signatures.ts";
import type { SourceDefinition } from "../admit/source.ts";
import { sources } from "./index.ts";
import { signSample } from "./signed-sample.ts";
import { decode, decodeOne, verify, type WireRequest } from "./test-request.ts";

const now = Date.UTC(2026, 0, 5, 9, 30, 0, 500);
const id = "delivery-1";
const secret = `whsec_${toBase64(utf8("a secret of thirty-two bytes, ok"))}`;
const otherSecret = `whsec_${toBase64(utf8("another one of thirty-two bytes!"))}`;

/** The tolerance of the signed time in milliseconds, for each source that signs the time. */
const tolerances: Record<string, number> = {
  gitlab: 300_000,
  linear: 60_000,
  slack: 300_000,
  "standard-webhooks": 300_000,
  stripe: 300_000,
};

const signed = (source: SourceDefinition, by = secret): Promise<WireRequest> => {
  const sample = source.sample(id, { now });
  if (!sample) throw new Error(`${source.id} has no sample`);
  return signSample(source, sample, by, { now, id });
};
const schemeOf = (source: SourceDefinition) => source.signature(source.config?.parse({}) ?? {});
const keyOf = (source: SourceDefinition, from = secret) => makeSigningKey(schemeOf(source), from);
/** The headers that signing adds. */
const signatureHeaders = async (source: SourceDefinition) =>
  Object.keys(await schemeOf(source).sign({ body: new Uint8Array(), now, id }, keyOf(source)));
const check = (source: SourceDefinition, wire: WireRequest, at = now, by = secret) =>
  verify(source, wire, keyOf(source, by), at);
const without = (wire: WireRequest, names: string[]): WireRequest => ({
  ...wire,
  headers: Object.fromEntries(
    Object.entries(wire.headers).filter(([name]) => !names.includes(name)),
  ),
});
const withHeader = (wire: WireRequest, name: string, value: string): WireRequest => ({
  ...wire,
  headers: { ...wire.headers, [name]: value },
});

describe.each(sources.map((source) => ({ id: source.id, source })))("$id", ({ source }) => {
  it("accepts a signature only with the secret that made it", async () => {
    const wire = await signed(source);
    expect(await check(source, wire)).toBe("valid");
    expect(await check(source, wire, now, otherSecret)).toBe("mismatch");
    const rotated = await signed(source, otherSecret);
    expect(await check(source, rotated, now, otherSecret)).toBe("valid");
    expect(await check(source, rotated)).toBe("mismatch");
  });

  it("rejects a change of any authenticated byte", async () => {
    const wire = await signed(source);
    const key = keyOf(source);
    if (schemeOf(source).covers === "body")
      for (let at = 0; at < wire.body.length; at += 1) {
        const body = wire.body.slice();
        body[at] = (body[at] as number) ^ 1;
        expect(await verify(source, { ...wire, body }, key, now), `byte ${at}`).toBe("mismatch");
      }
    for (const name of await signatureHeaders(source)) {
      const value = wire.headers[name] as string;
      for (let at = 0; at < value.length; at += 1) {
        // The replacement must decode to other bytes: not to the same hex digit in another case, and
        // not to base64 that differs only in unused bits.
        const changed = "AaBbCcDd".includes(value[at] as string) ? "0" : "A";
        const forged = value.slice(0, at) + changed + value.slice(at + 1);
        const status = await verify(source, withHeader(wire, name, forged), key, now);
        expect(status, `${name}: ${forged}`).not.toBe("valid");
      }
    }
  });

  it("rejects a shortened, lengthened or empty body if the body is signed", async () => {
    if (schemeOf(source).covers !== "body") return;
    const wire = await signed(source);
    for (const body of [
      wire.body.slice(1),
      wire.body.slice(0, -1),
      new Uint8Array([...wire.body, 0x20]),
      new Uint8Array(),
    ])
      expect(await check(source, { ...wire, body })).toBe("mismatch");
  });

  it("reports a missing or malformed signature", async () => {
    const wire = await signed(source);
    const names = await signatureHeaders(source);
    expect(await check(source, without(wire, names))).toBe("missing");
    for (const name of names) {
      expect(await check(source, without(wire, [name])), `without ${name}`).toBe("missing");
      expect(await check(source, withHeader(wire, name, "")), `empty ${name}`).toBe("missing");
      expect(["malformed", "mismatch"]).toContain(
        await check(source, withHeader(wire, name, "###")),
      );
    }
  });

  it("stores no header that contains the secret", async () => {
    const wire = await signed(source);
    const stored = [...schemeOf(source).headers, ...source.headers];
    for (const name of stored) expect(wire.headers[name] ?? "").not.toContain(secret);
  });

  it("rejects a signed time outside the tolerance, if it signs the time", async () => {
    const wire = await signed(source);
    const toleranceMs = tolerances[source.id];
    if (toleranceMs === undefined) {
      expect(await check(source, wire, now + 365 * 86_400_000)).toBe("valid");
      return;
    }
    for (const sign of [-1, 1]) {
      expect(await check(source, wire, now + sign * (toleranceMs - 1_000))).toBe("valid");
      expect(await check(source, wire, now + sign * (toleranceMs + 1_000))).toBe("expired");
    }
  });

  it("decodes and summarizes its sample", async () => {
    const wire = await signed(source);
    const { type, externalId, body } = decodeOne(source, wire);
    expect(type).toMatch(/^[A-Za-z_.]+$/);
    expect(externalId).toContain(id);
    const summary = source.summarize(type, body);
    expect(summary.title).toMatch(/\w/);
    expect(summary.url ?? "https://").toMatch(/^https:\/\//);
    expect(source.accepts((wire.headers["content-type"] ?? "").split(";")[0] as string)).toBe(true);
  });

  it("never throws on hostile headers", async () => {
    const wire = await signed(source);
    const key = keyOf(source);
    const names = fc.constantFrom(
      ...(await signatureHeaders(source)),
      ...schemeOf(source).headers,
      ...source.headers,
      ...["content-type", "ce-id", "ce-specversion", "ce-x", "idempotency-key", "x-gitlab-token"],
    );
    const piece = fc.constantFrom(
      ...["sha256=", "v0=", "v1=", "v1,", "t=", "Bearer ", ",", "=", " ", '"', "\\", "%", "%C0%A0"],
      ...["00", "zz", "AA==", "\u0000", "é", "\ud800", "1767605400", "application/json", id],
    );
    const value = fc.oneof(
      fc.array(piece, { maxLength: 8 }).map((all) => all.join("")),
      fc.string(),
    );
    const statuses: SignatureStatus[] = ["valid", "missing", "malformed", "mismatch", "expired"];
    await fc.assert(
      fc.asyncProperty(fc.dictionary(names, value, { maxKeys: 6 }), async (hostile) => {
        const forged = { ...wire, headers: { ...wire.headers, ...hostile } };
        expect(statuses).toContain(await verify(source, forged, key, now));
        const decoded = decode(source, forged);
        expect(Array.isArray(decoded) || typeof decoded.outcome === "string").toBe(true);
      }),
      { numRuns: 300 },
    );
  });

  it("never throws on hostile bodies, and returns only events with a type", async () => {
    const { headers } = await signed(source);
    const names = fc.constantFrom(
      ..."type id source specversion data data_base64 event event_id action object_kind commits ref".split(
        " ",
      ),
      ..."actions view command text payload challenge __proto__ constructor title url subject".split(
        " ",
      ),
    );
    const body = fc.oneof(
      fc.uint8Array({ maxLength: 40 }),
      fc.jsonValue().map((value) => utf8(JSON.stringify(value))),
      fc.dictionary(names, fc.jsonValue()).map((value) => utf8(JSON.stringify(value))),
    );
    const contentType = fc.constantFrom(
      headers["content-type"] as string,
      ...["application/json", "application/x-www-form-urlencoded", "text/plain", ""],
      "application/cloudevents-batch+json",
    );
    fc.assert(
      fc.property(body, contentType, (body, type) => {
        const decoded = decode(source, { headers: { ...headers, "content-type": type }, body });
        if (!Array.isArray(decoded)) return;
        for (const event of decoded) {
          expect(event.type).not.toBe("");
          expect(event.externalId).not.toBe("");
          source.summarize(event.type, event.body);
        }
      }),
      { numRuns: 500 },
    );
  });
});

describe("a signed time", () => {
  const body = utf8("{}");
  const hmac = (text: string, encoding: "hex" | "base64", key: string | Buffer) =>
    createHmac("sha256", key).update(text).update(body).digest(encoding);
  const raw = Buffer.from(secret.slice(6), "base64");
  /** Headers with a valid signature, so that only the time can be invalid. */
  const signedHeaders: Record<string, (time: string) => Record<string, string>> = {
    "standard-webhooks": (time) => ({
      "webhook-id": id,
      "webhook-timestamp": time,
      "webhook-signature": `v1,${hmac(`${id}.${time}.`, "base64", raw)}`,
    }),
    stripe: (time) => ({ "stripe-signature": `t=${time},v1=${hmac(`${time}.`, "hex", secret)}` }),
    slack: (time) => ({
      "x-slack-signature": `v0=${hmac(`v0:${time}:`, "hex", secret)}`,
      "x-slack-request-timestamp": time,
    }),
  };

  it.each(Object.keys(signedHeaders))(
    "of %s is rejected if it is not a whole number",
    async (name) => {
      const source = sources.find((candidate) => candidate.id === name) as SourceDefinition;
      const seconds = String(Math.floor(now / 1000));
      const headers = signedHeaders[name] as (time: string) => Record<string, string>;
      expect(await check(source, { headers: headers(seconds), body })).toBe("valid");
      for (const time of [
        "now",
        "1e9",
        `-${seconds}`,
        `${seconds}.5`,
        `0x${seconds}`,
        "9".repeat(20),
        "NaN",
      ])
        expect(await check(source, { headers: headers(time), body }), time).toBe("malformed");
      expect(await check(source, { headers: headers("0"), body })).toBe("expired");
    },
  );

  it.each([null, "soon", "1767605400500", [], {}, true])(
    "of linear is rejected if it is %j",
    async (time) => {
      const linear = sources.find((candidate) => candidate.id === "linear") as SourceDefinition;
      const bytes = utf8(JSON.stringify({ webhookTimestamp: time }));
      const signature = createHmac("sha256", secret).update(bytes).digest("hex");
      const wire = { headers: { "linear-signature": signature }, body: bytes };
      expect(await check(linear, wire)).toBe("malformed");
      expect(await check(linear, wire, now, otherSecret)).toBe("mismatch");
    },
  );
});
