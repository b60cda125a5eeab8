import { Buffer } from "node:buffer";
import type { Json } from "@signalbox/rules/json.ts";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createMask, MASK } from "./mask.ts";

const secret = fc
  .string({ unit: "binary", minLength: 4, maxLength: 40 })
  .filter((text) => !text.includes("•"));
/** Generates JSON with the text as a value, as a key, or inside other text. */
const jsonContaining = (text: fc.Arbitrary<string>) =>
  fc.letrec<{ json: Json; text: string }>((tie) => ({
    text: fc.oneof(
      fc.string({ unit: "binary" }),
      fc.tuple(fc.string(), text, fc.string()).map((parts) => parts.join("")),
    ),
    json: fc.oneof(
      { maxDepth: 4 },
      tie("text"),
      fc.oneof(fc.integer(), fc.double({ noNaN: true }), fc.constant(null), fc.boolean()),
      fc.array(tie("json"), { maxLength: 4 }),
      fc.dictionary(tie("text"), tie("json"), { maxKeys: 4 }),
    ),
  })).json;

const stringsIn = (json: Json): string[] => {
  if (typeof json === "string") return [json];
  if (typeof json === "number") return [String(json)];
  if (Array.isArray(json)) return json.flatMap(stringsIn);
  if (typeof json !== "object" || json === null) return [];
  return Object.entries(json).flatMap(([name, value]) => [name, ...stringsIn(value)]);
};

const encodings: Record<string, (text: string) => string> = {
  unencoded: (text) => text,
  "percent-encoded": encodeURIComponent,
  "encoded for a query": (text) => new URLSearchParams({ q: text }).toString().slice(2),
  "escaped in a JSON string": (text) => JSON.stringify(text).slice(1, -1),
  "encoded as Base64": (text) => Buffer.from(text).toString("base64").replace(/=*$/, ""),
};

for (const [encoding, encode] of Object.entries(encodings))
  test(`masks every secret that is ${encoding}`, () => {
    const wellFormed = secret.filter((text) => text.isWellFormed());
    fc.assert(
      fc.property(
        wellFormed.chain((text) =>
          fc.tuple(fc.constant(text), jsonContaining(fc.constant(encode(text)))),
        ),
        ([text, json]) => {
          const masked = stringsIn(createMask([text]).json(json));
          expect(masked.filter((string) => string.includes(encode(text)))).toEqual([]);
        },
      ),
      { numRuns: 300 },
    );
  });

test("masks a password inside Base64 at any offset", () => {
  fc.assert(
    fc.property(fc.string({ maxLength: 9 }), fc.string({ maxLength: 9 }), (before, after) => {
      const password = "correct horse/battery+staple?";
      const bytes = Buffer.from(`${before}${password}${after}`);
      for (const encoding of ["base64", "base64url"] as const) {
        const masked = createMask([password]).json(bytes.toString(encoding)) as string;
        expect(masked).toContain(MASK);
        expect(Buffer.from(masked, encoding).toString()).not.toContain("horse");
      }
    }),
  );
});

test("does not change values without secrets", () => {
  fc.assert(
    fc.property(fc.json(), (text) => {
      const json = JSON.parse(text) as Json;
      expect(createMask(["no such secret"]).json(json)).toEqual(json);
      expect(createMask([]).json(json)).toBe(json);
    }),
  );
});

test("masks a secret that ends with an unpaired surrogate", () => {
  expect(createMask(["abc\ud800"]).json({ a: "abc\ud800", b: "xabc\ud800" })).toEqual({
    a: MASK,
    b: `x${MASK}`,
  });
});

test("masks numbers, and ignores short secrets", () => {
  expect(createMask(["12345", "ab"]).json({ n: 12345, m: 9123459, k: 1234, t: "ab" })).toEqual({
    n: MASK,
    m: MASK,
    k: 1234,
    t: "ab",
  });
});

test("masks the message and the details of errors", () => {
  const { error } = createMask(["s3cret"]);
  expect(
    error({ code: "x", message: "401 for s3cret", node_id: "n", details: ["s3cret"] }),
  ).toEqual({ code: "x", message: `401 for ${MASK}`, node_id: "n", details: [MASK] });
});

test("truncates a long message after masking it", () => {
  const secret = "correct-horse-battery-staple";
  fc.assert(
    fc.property(fc.nat(2_000), fc.nat(200), (before, times) => {
      const message = "x".repeat(before) + secret.repeat(times);
      const masked = createMask([secret]).error({ code: "x", message, node_id: "n" }).message;
      expect(masked).toMatch(/^x*•*$/);
      expect(masked.length).toBeLessThanOrEqual(1_000);
    }),
  );
});

test("masks a secret without its leading and trailing whitespace", () => {
  const { json } = createMask(["  s3cret word\r\n"]);
  expect(json(["Bearer s3cret word", "s3cret%20word", "s3cret+word", btoa("s3cret word")])).toEqual(
    [`Bearer ${MASK}`, MASK, MASK, expect.not.stringContaining(btoa("s3cret word").slice(0, 8))],
  );
});

test("masks serialized JSON in the same way as its value", () => {
  const secret = fc.string({ minLength: 4 }).filter((text) => text === text.trim());
  fc.assert(
    fc.property(fc.jsonValue(), secret, fc.boolean(), (other, secret, isName) => {
      const mask = createMask([secret, "12345"]);
      const value = {
        other: JSON.parse(JSON.stringify(other)), // -0 becomes 0
        12345: isName ? { [`x${secret}`]: 99123459 } : [`${secret}y`],
      } as Json;
      expect(JSON.parse(mask.jsonText(JSON.stringify(value)))).toEqual(mask.json(value));
    }),
  );
  const text = '{ "a": "b" }';
  expect(createMask(["s3cret"]).jsonText(text)).toBe(text);
});

/** Generates the JSON of a string in which each character is written unescaped or with any escape. */
const serializedString = (text: string): fc.Arbitrary<string> =>
  fc
    .tuple(...text.split("").map((unit) => fc.constantFrom(...serializationsOf(unit))))
    .map((units) => `"${units.join("")}"`);

function serializationsOf(unit: string): string[] {
  const hex = unit.charCodeAt(0).toString(16).padStart(4, "0");
  const shortest = JSON.stringify(unit).slice(1, -1);
  return [shortest, `\\u${hex}`, `\\u${hex.toUpperCase()}`, ...(unit === "/" ? ["\\/"] : [])];
}

test("masks serialized JSON in the same way as its value, however its strings are escaped", () => {
  const secret = fc
    .string({ unit: fc.constantFrom("a", "/", "<", "ä", "\\", '"', "😀", "\n", "+"), minLength: 4 })
    .filter((text) => text === text.trim() && text.length >= 4);
  const escaped = secret.chain((text) =>
    fc
      .tuple(fc.constant(text), fc.constantFrom(...Object.values(encodings)))
      .chain(([, encode]) =>
        fc.tuple(
          fc.constant(text),
          serializedString(encode(text)),
          serializedString(`x${encode(text)}y`),
        ),
      ),
  );
  fc.assert(
    fc.property(escaped, ([secret, value, name]) => {
      const mask = createMask([secret]);
      const text = `{"a":[${value},1.5],${name}:{"b\\/":${name}}}`;
      const masked = JSON.parse(mask.jsonText(text));
      expect(masked).toEqual(mask.json(JSON.parse(text)));
      expect(masked.a[0]).toContain(MASK);
    }),
  );
});

test("masks a number in serialized JSON, however it is written", () => {
  const { jsonText } = createMask(["123450000", "98765432109876543210"]);
  expect(jsonText("[123450000,1.2345e8,123450000.0,1.2345E+8,98765432109876543210,1.20e3]")).toBe(
    `["${MASK}","${MASK}","${MASK}","${MASK}","${MASK}",1.20e3]`,
  );
});

test("masks long texts in the same way as short ones", () => {
  const filler = "x".repeat(70_000);
  fc.assert(
    fc.property(
      fc.array(secret, { minLength: 1, maxLength: 3 }),
      fc.constantFrom(...Object.values(encodings)),
      (secrets, encode) => {
        const { json, jsonText, text } = createMask(secrets);
        const encoded = secrets.map((secret) => encode(secret.toWellFormed()));
        const value = {
          [`${encoded[0]}`]: [...encoded, encoded.join(" "), `${filler} ${encoded.join(" ")}`],
        };
        const fromValue = json(value);
        const fromText = JSON.parse(jsonText(JSON.stringify(value))) as Json;
        for (const masked of [fromValue, fromText])
          for (const string of stringsIn(masked))
            for (const encodedSecret of encoded) expect(string).not.toContain(encodedSecret);
        expect(text(`${filler} ${encoded[0]}`)).toBe(`${filler} ${text(`${encoded[0]}`)}`);
      },
    ),
    { numRuns: 50 },
  );
});

test("masks 15 MB with 50 secrets in time that does not depend on their number", () => {
  const secrets = Array.from(
    { length: 50 },
    (_, index) => `secret-number-${index}-of-this-flow-/+=`,
  );
  const { jsonText } = createMask(secrets);
  const list = '1,"\\u00e4 or a longer text",'.repeat(500_000);
  const before = process.cpuUsage();
  expect(jsonText(`[${list}"${secrets[7]}"]`)).toBe(`[${list}"${MASK}"]`);
  const { user, system } = process.cpuUsage(before);
  // A separate search for each secret took more than ten seconds.
  expect((user + system) / 1_000).toBeLessThan(2_000);
});
