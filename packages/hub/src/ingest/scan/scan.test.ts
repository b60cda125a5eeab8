import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { utf8 } from "../../lib/hmac.ts";
import { decodeObject } from "../decode.ts";
import type { Json, JsonObject } from "../source.ts";
import { compileScanner, target } from "./compile.ts";
import { createScanner, MAX_SCAN_BYTES, type ScanProblem } from "./scan.ts";

const scanner = createScanner(["kept", "a", "", "a longer name than sixteen bytes", "ü"]);
const bytesOf = (text: string | Uint8Array) => (typeof text === "string" ? utf8(text) : text);

const reasons: Record<string, ScanProblem> = {
  empty_body: "empty",
  invalid_utf8: "utf8",
  invalid_json: "json",
  not_an_object: "not_an_object",
  too_deep: "too_deep",
};

/** What decode.ts says of it. */
function expected(bytes: Uint8Array): ScanProblem | "fine" {
  const decoded = decodeObject("application/json", bytes);
  return "object" in decoded ? "fine" : (reasons[decoded.reason] as ScanProblem);
}

function verdict(text: string | Uint8Array): ScanProblem | "fine" {
  const bytes = bytesOf(text);
  const scanned = scanner.scan(bytes);
  if ("problem" in scanned) {
    if (!(scanned.at >= 0 && scanned.at <= bytes.byteLength)) throw new Error(`at ${scanned.at}`);
    return scanned.problem;
  }
  JSON.parse(scanned.text); // what is left must be JSON as well
  return "fine";
}

/** Cheaper than an `expect` for each of a great many. */
function sameAsDecode(text: string | Uint8Array) {
  const bytes = bytesOf(text);
  const [ours, theirs] = [verdict(bytes), expected(bytes)];
  if (ours !== theirs)
    throw new Error(`${ours}, but decode.ts says ${theirs}: ${JSON.stringify([...bytes])}`);
}

const pruned = (text: string, keys = ["kept"]) => {
  const scanned = createScanner(keys).scan(utf8(text));
  return "text" in scanned ? scanned.text : scanned;
};

const nested = (depth: number) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`;

/** In place of a value, each. */
const goodValues = [
  ..."0 -0 1 -1 10 123.456 0.5 -0.0 1e5 1E5 1e+5 1E-5 0e0 0.1e1 1.5E+10 1e999 123456789012345678901".split(
    " ",
  ),
  ...["true", "false", "null", "[]", "{}", "[[]]", "[ ]", "{ }", "[1,2]", "[ 1 , 2 ]", "[{}]"],
  ...['""', '" "', '"\\""', '"\\\\"', '"\\/\\b\\f\\n\\r\\t"', '"\\u0000"', '"\\uABCD\\uabcd"'],
  ...['"\\ud800"', '"\\udc00\\ud800"', '"\\uD83D\\uDE00"', '"\u007f"', '"\u2028\u2029"', '"😀"'],
  ...['"\ufeff"', '"\uffff"', '"\u{10ffff}"', '"ü"', '{"a":1,"a":2}', '{"":0}', '{"a":{"b":[]}}'],
  ...['"[{"', '"\\\\\\""', "\t\n\r 1\t\n\r ", `"${"x".repeat(100)}"`, '{"kept":[1,"x",{"b":2}]}'],
];
const badValues = [
  ..."- -- +1 01 -01 00 1. .5 -.5 1.e1 1e 1e+ 1E- 1ee1 0x1 1_000 NaN Infinity -Infinity 1,".split(
    " ",
  ),
  ..."tru truee True nul nulll fals undefined [ ] { } [1 [1, [,] [,1] [1,,2] [1,] [1}".split(" "),
  ...["[1 2]", '{"a"}', '{"a":}', '{"a":1,}', "{,}", '{"a":1 "b":2}', "{a:1}", "{1:1}", "{'a':1}"],
  ...['{"a",1}', '{"a":1,,"b":2}', '{"a"::1}', '{"a":1]', '["a":1]', "{null:1}", '{"a":1', '{"a'],
  ...['"', '"a', '"\\"', '"\\', '"\\x"', '"\\u"', '"\\u123"', '"\\u12g4"', '"\\U1234"', '"\\a"'],
  ...[
    '"\n"',
    '"\t"',
    '"\u0000"',
    '"\u001f"',
    '"\\\n"',
    "'a'",
    "\u00a01",
    "\u000b1",
    "\f1",
    "\ufeff1",
  ],
  ...[
    "/**/1",
    "1//",
    "1#",
    "\u0000",
    "1\u0000",
    '"a"b',
    "''",
    "",
    " ",
    "\u2028",
    "<a>",
    "1 2",
    "\\",
  ],
];

describe("the verdict", () => {
  it.each(goodValues)("takes %j", (value) => {
    for (const text of [`{"b":${value}}`, `{"b":{"kept":${value}}}`, `{"b":[0,${value}]}`]) {
      expect(verdict(text), text).toBe("fine");
      sameAsDecode(text);
    }
    const alone = value.trim().startsWith("{") ? "fine" : "not_an_object";
    expect(verdict(value)).toBe(alone);
    sameAsDecode(value);
  });

  it.each(badValues)("refuses %j", (value) => {
    for (const text of [`{"b":${value}}`, `{"b":{"kept":${value}}}`, `{"b":[0,{"x":${value}}]}`]) {
      expect(verdict(text), text).toBe("json");
      sameAsDecode(text);
    }
    sameAsDecode(value);
    sameAsDecode(`[${value}]`);
  });

  it.each([
    ["", "empty", 0],
    [" ", "json", 1],
    ["\ufeff", "json", 3],
    ["\ufeff{}", "fine"],
    ["\ufeff \ufeff{}", "json", 4],
    [" \ufeff{}", "json", 1],
    ["{}\ufeff", "json", 2],
    ["{}\u0000", "json", 2],
    ["{} {}", "json", 3],
    [" 1", "not_an_object", 1],
    ["[]", "not_an_object", 0],
    ["[", "json", 1],
    ['{"a":nul}', "json", 5],
    [nested(128), "fine"],
    [nested(129), "too_deep", 5 * 128],
    [`[${nested(128)}]`, "too_deep", 1 + 5 * 127],
    ["[".repeat(128), "json", 128],
    ["[".repeat(129), "too_deep", 128],
    [`!${"[".repeat(129)}`, "too_deep", 129],
    [`!${"]".repeat(9)}${"[".repeat(130)}`, "json", 0],
    [`!"\\"${"[".repeat(129)}`, "json", 0],
    [`!"\\\\"${"[".repeat(129)}`, "too_deep", 5 + 128],
    [`{"b":"${"[".repeat(500)}","c":[${"{},".repeat(500)}1]}`, "fine"],
    [Uint8Array.of(0x7b, 0xff, 0x7d), "utf8", 1],
    [Uint8Array.of(0x7b, 0x7d, 0xc3), "utf8", 2],
    [Uint8Array.of(0xff, ...utf8("[".repeat(200))), "utf8", 0],
    [Uint8Array.of(...utf8("[".repeat(200)), 0xff), "utf8", 200],
  ] as const)("of %j is %s", (text, problem, at?: number) => {
    expect(verdict(text)).toBe(problem);
    sameAsDecode(text);
    if (at !== undefined) expect(scanner.scan(bytesOf(text))).toEqual({ problem, at });
  });

  it.each(['{"b":', '{"b":{"kept":', '{"b":{"x":', '{"b":[', '{"b":{"x":['])(
    "takes %s with arrays and objects in it to the depth allowed, and no further",
    (start) => {
      const outer = start.replace(/[^[{]/g, "");
      const end = [...outer].reverse().map((open) => (open === "{" ? "}" : "]"));
      for (const [open, close] of ["[]", '{"kept":}', '{"y":}'].map(
        (pair) => [pair.slice(0, -1), pair.slice(-1)] as [string, string],
      ))
        for (const depth of [127, 128, 129, 130]) {
          const levels = depth - outer.length;
          const text = `${start}${open.repeat(levels)}1${close.repeat(levels)}${end.join("")}`;
          expect(verdict(text), text).toBe(depth > 128 ? "too_deep" : "fine");
          sameAsDecode(text);
        }
    },
  );

  it("is the same for every byte in every kind of place", () => {
    const places = [
      '~{"b":1}',
      '{~"b":1}',
      '{"b~":1}',
      '{"b"~:1}',
      '{"b":~1}',
      '{"b":1~}',
      '{"b":-~}',
      '{"b":0~}',
      '{"b":1.~}',
      '{"b":1e~}',
      '{"b":"~"}',
      '{"b":"\\~"}',
      '{"b":"\\u~000"}',
      '{"b":"\\u000~"}',
      '{"b":tru~}',
      '{"b":~rue}',
      '{"b":[~]}',
      '{"b":[1~]}',
      '{"b":{"c":[~{}]}}',
      '{"b":{~}}',
      '{"b":1~"c":2}',
      '{"b":[1~2]}',
      '{"b":{"x":{"y":1~"z":2}}}',
      '{"b":{"x":{"y"~1}}}',
      '{"b":{"x":{~"y":1}}}',
      '{"b":{"x":{"y":1~}}}',
      '{"b":{"x":[1~2]}}',
      '{"b":{"x":[1~]}}',
      '{"b":{"x":[~]}}',
      '{"b":1}~',
      "~",
    ];
    for (const place of places)
      for (let byte = 0; byte < 256; byte += 1)
        sameAsDecode(utf8(place).map((given) => (given === 0x7e ? byte : given)));
  });

  it("is the same wherever in a block of bytes something stands", () => {
    for (const special of ['"', "\\", "\\n", "\\u00e4", "\n", "ü", "€", "😀", "\u0000", "\\u00g0"])
      for (let before = 0; before < 70; before += 1) {
        const text = `${"x".repeat(before)}${special}${"y".repeat(20)}`;
        sameAsDecode(`{"b":"${text}"}`);
        sameAsDecode(`{"b":{"${text}":1}}`);
        sameAsDecode(`${" ".repeat(before)}{"b":[1,${text}]}`);
      }
  });

  it("is the same for every sequence of two bytes, and for those at the borders of UTF-8", () => {
    const decodes = (bytes: Uint8Array) => expected(Uint8Array.of(...bytes, 0x30)) !== "utf8";
    const check = (bytes: Uint8Array) => {
      sameAsDecode(bytes);
      const scanned = scanner.scan(bytes);
      if (!("problem" in scanned) || scanned.problem !== "utf8") return;
      const rest = bytes.subarray(scanned.at);
      const characters = [1, 2, 3, 4].map((length) => rest.subarray(0, length));
      if (!decodes(bytes.subarray(0, scanned.at)) || characters.some(decodes))
        throw new Error(`${JSON.stringify([...bytes])} does not go wrong at ${scanned.at}`);
    };
    const string = (...bytes: number[]) => Uint8Array.of(...utf8('{"b":"'), ...bytes, 0x22, 0x7d);
    for (let first = 0x70; first < 256; first += 1)
      for (let second = 0x70; second < 256; second += 1) check(string(first, second));
    const borders = [0x41, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xff];
    for (const first of [0xdf, 0xe0, 0xe1, 0xec, 0xed, 0xee, 0xef, 0xf0, 0xf1, 0xf3, 0xf4, 0xf5])
      for (const second of borders)
        for (const third of borders) {
          check(string(first, second, third));
          for (const fourth of borders) check(string(first, second, third, fourth));
        }
  });

  it("is the same for a payload that is cut off anywhere, after a longer one", () => {
    const bytes = utf8(JSON.stringify(payload()));
    for (let length = 0; length < bytes.byteLength; length += 1) {
      const cut = scanner.scan(bytes.subarray(0, length));
      expect(cut).toHaveProperty("problem", length ? "json" : "empty");
      expect(length - ("at" in cut ? cut.at : 0)).toBeLessThan("false".length);
    }
    expect(verdict(bytes)).toBe("fine");
  });

  it("takes nothing of what was there before for a part of the text", () => {
    for (const stale of [0xff, 0xbf, 0x22, 0x20, 0x30, 0x7d])
      for (const start of ["{", '{"b":"', '{"b":1', '{"b":tru', '{"b":"\\u00', '{"b":"ü'])
        for (let length = 0; length < 70; length += 1) {
          scanner.scan(new Uint8Array(300).fill(stale));
          sameAsDecode(" ".repeat(length) + start);
          const bytes = utf8(`${" ".repeat(length)}${start}€`);
          for (const cut of [0, 1, 2]) {
            scanner.scan(new Uint8Array(300).fill(stale));
            sameAsDecode(bytes.subarray(0, bytes.byteLength - cut));
          }
        }
  });

  const object = fc.dictionary(fc.string({ unit: "binary" }), fc.jsonValue({ maxDepth: 8 }));
  const text = fc
    .tuple(object, fc.constantFrom("", " ", "\t", "\r\n "))
    .map(([value, space]) => JSON.stringify(value, null, space));

  it("is the same for any object", () => {
    fc.assert(
      fc.property(text, (text) => {
        expect(verdict(text)).toBe("fine");
        sameAsDecode(text);
      }),
      { numRuns: 3_000 },
    );
  });

  it("is the same for texts with something changed, added or cut out", () => {
    const byte = fc.oneof(
      fc.constantFrom(...utf8('{}[]",:\\/ \n\t0123456789-+.eEutrfalsn')),
      fc.constantFrom(0, 0x1f, 0x7f, 0x80, 0xbf, 0xc2, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xff),
      fc.nat(255),
    );
    const change = fc.tuple(fc.nat(), fc.nat(3), fc.array(byte, { maxLength: 3 }));
    fc.assert(
      fc.property(text, fc.array(change, { minLength: 1, maxLength: 3 }), (text, changes) => {
        const bytes = [...utf8(text)];
        for (const [at, cut, added] of changes) bytes.splice(at % bytes.length, cut, ...added);
        sameAsDecode(Uint8Array.from(bytes));
      }),
      { numRuns: 10_000 },
    );
  });

  it("is the same for soups of tokens", () => {
    const token = fc.constantFrom(
      ...'{ } [ ] , : " \\ "a" "kept" "\\u0061" 1 -1.5e3 true null { [ {"a": [1,'.split(" "),
      " ",
      "ü",
    );
    fc.assert(
      fc.property(fc.array(token, { maxLength: 30 }), (tokens) => sameAsDecode(tokens.join(""))),
      { numRuns: 10_000 },
    );
  });

  it("is the same for any bytes", () => {
    fc.assert(fc.property(fc.uint8Array({ maxLength: 300 }), sameAsDecode), { numRuns: 5_000 });
  });
});

describe("what is left", () => {
  it.each([
    ['{"b":1,"c":"x","d":{}}', '{"b":1,"c":"x","d":{}}'],
    ['{"b":{"x":1,"kept":2,"y":3}}', '{"b":{"kept":2}}'],
    ['{"b":{"x":{"kept":1}}}', '{"b":{}}'],
    ['{"b":{"kept":{"kept":[1,{"x":1}],"x":[]}}}', '{"b":{"kept":{"kept":[1,{}]}}}'],
    ['{"b":[1,"x",{"x":1},[{"kept":null,"x":1}]]}', '{"b":[1,"x",{},[{"kept":null}]]}'],
    [
      '{"b":{"x":{"y":[{}]},"\\u006bept":1,"ke\\pt":2}}'.replace("\\p", "\\/p"),
      '{"b":{"\\u006bept":1,"ke\\/pt":2}}',
    ],
    [' { "b" : { "x" : 1 , "kept" : 2 } } ', '{"b" : {"kept" : 2}}'],
    ["\ufeff{}", "{}"],
    ['{"b":{"kept":"ü€😀"}}', '{"b":{"kept":"ü€😀"}}'],
    ['{"b":{"kept":{"x":1},"kept":null}}', '{"b":{"kept":{},"kept":null}}'],
    ['{"b":{"kep":1,"keptt":2,"Kept":3,"":4}}', '{"b":{}}'],
  ])("of %s is %s", (text, left) => {
    expect(pruned(text)).toBe(left);
  });

  it("knows names of every length, and many of them", () => {
    const letters = "name of any length, ".repeat(30);
    const names = Array.from({ length: 420 }, (_, length) => letters.slice(0, length));
    const given = names.filter((name) => name.length % 2 === 0).concat("ü", "x");
    const members = [...names, "ü", "x", "y"].map((name) => `${JSON.stringify(name)}:1`).join();
    expect(JSON.parse(pruned(`{"b":{${members}}}`, given) as string)).toEqual({
      b: Object.fromEntries(given.map((name) => [name, 1])),
    });
  });

  it("is as a filter on the parsed object would leave it", () => {
    const name = fc.oneof(
      fc.constantFrom("kept", "other", "a", "", "__proto__", "ü", "x".repeat(16), "x".repeat(33)),
      fc.string({ unit: "binary", maxLength: 20 }),
    );
    const { object } = fc.letrec<{ value: Json; object: JsonObject }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 6 },
        fc.jsonValue() as fc.Arbitrary<Json>,
        fc.array(tie("value"), { maxLength: 4 }),
        tie("object"),
      ),
      object: fc.dictionary(name, tie("value"), { maxKeys: 6 }),
    }));
    const space = fc.constantFrom("", " ", "\n\t");
    fc.assert(
      fc.property(fc.array(name, { maxLength: 8 }), fc.array(object), space, (keys, all, space) => {
        const scanner = createScanner(keys);
        for (const object of all) {
          const text = JSON.stringify(object, null, space);
          const scanned = scanner.scan(utf8(text));
          if ("problem" in scanned) throw new Error(`${scanned.problem} at ${scanned.at}`);
          expect(JSON.parse(scanned.text)).toEqual(
            filtered(JSON.parse(text) as Json, new Set(keys), true),
          );
        }
      }),
      { numRuns: 400 },
    );
  });
});

describe("sizes", () => {
  it("takes a mebibyte, kept or dropped, and goes on with small bodies", () => {
    const fill = "x".repeat(MAX_SCAN_BYTES - '{"b":""}'.length);
    const whole = `{"b":"${fill}"}`;
    expect(utf8(whole)).toHaveLength(MAX_SCAN_BYTES);
    expect(scanner.scan(utf8(whole))).toEqual({ text: whole });
    expect(scanner.scan(utf8(`{"b":{"x":"${fill.slice(6)}"}}`))).toEqual({ text: '{"b":{}}' });
    expect(scanner.scan(utf8(`{"b":[${"[],".repeat(349_000)}1]}`))).toHaveProperty("text");
    expect(scanner.scan(utf8("{}"))).toEqual({ text: "{}" });
  });

  it("leaves larger ones to JSON.parse", () => {
    expect(() => scanner.scan(new Uint8Array(MAX_SCAN_BYTES + 1))).toThrow(RangeError);
  });

  it("takes no more names than its table holds", () => {
    const names = Array.from({ length: 513 }, (_, at) => `name ${at}`);
    expect(() => createScanner([...names.slice(0, 512), ...names.slice(0, 512)])).not.toThrow();
    expect(() => createScanner(names)).toThrow(/too many or too long/);
    expect(() => createScanner(["x".repeat(70_000)])).toThrow(/too many or too long/);
  });

  it("keeps scanners apart", () => {
    const [one, other] = [createScanner(["one"]), createScanner(["other"])];
    const bytes = utf8('{"b":{"one":1,"other":2}}');
    expect(one.scan(bytes)).toEqual({ text: '{"b":{"one":1}}' });
    expect(other.scan(bytes)).toEqual({ text: '{"b":{"other":2}}' });
  });
});

it("is compiled from what the source says: else run `npm run build:scan -w signalbox`", async () => {
  expect(await readFile(target, "utf8")).toBe(await compileScanner());
});

function filtered(value: Json, keys: Set<string>, isOutermost = false): Json {
  if (Array.isArray(value)) return value.map((item) => filtered(item, keys));
  if (typeof value !== "object" || value === null) return value;
  const stays = (name: string) =>
    isOutermost || keys.has(name) || JSON.stringify(name).includes("\\");
  return Object.fromEntries(
    Object.entries(value)
      .filter(([name]) => stays(name))
      .map(([name, member]) => [name, filtered(member, keys)]),
  );
}

function payload(): JsonObject {
  const require = createRequire(import.meta.url);
  const examples: { name: string; examples: JsonObject[] }[] =
    require("@octokit/webhooks-examples/api.github.com/index.json");
  return examples.find(({ name }) => name === "issues")?.examples[0] as JsonObject;
}
