import { createRequire } from "node:module";
import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import { utf8 } from "../../lib/hmac.ts";
import type { JsonObject } from "../source.ts";
import { github } from "../sources/github.ts";
import { summarizeGithub } from "../sources/github-summary.ts";
import { githubKeys } from "./github-keys.ts";
import { namesRead } from "./names-read.ts";
import { createScanner } from "./scan.ts";

// Required, not imported: its inferred type would be megabytes long.
const require = createRequire(import.meta.url);
const examples: {
  name: string;
  examples: JsonObject[];
}[] = require("@octokit/webhooks-examples/api.github.com/index.json");

const types = [...typesInTable(), "a_type_of_tomorrow"];
const read = (type: string, body: JsonObject) => ({
  summary: summarizeGithub(type, body),
  installation: github.installation(type, body),
});

const scanner = createScanner(githubKeys);
function prune(text: string): JsonObject {
  const scanned = scanner.scan(utf8(text));
  if ("problem" in scanned) throw new Error(`${scanned.problem} at ${scanned.at} of ${text}`);
  return JSON.parse(scanned.text) as JsonObject;
}

describe("GitHub's keys", () => {
  it("are all that the rules read, and no others", () => {
    const names = namesRead((body) => {
      for (const type of types) read(type, body);
    });
    expect(names).toEqual(expect.arrayContaining(["account", "login", "pull_requests", "0"]));
    expect([...githubKeys].sort()).toEqual(names);
  });

  it("leave all that is read of GitHub's example payloads", () => {
    let count = 0;
    for (const { name, examples: bodies } of examples)
      for (const body of bodies) {
        expect(read(name, prune(JSON.stringify(body)))).toEqual(read(name, body));
        expect(read(name, prune(JSON.stringify(body, null, "\t")))).toEqual(read(name, body));
        count += 1;
      }
    expect(count).toBe(329);
  });

  it("leave a small part of them", () => {
    const whole = examples.flatMap(({ examples }) => examples.map((body) => JSON.stringify(body)));
    const pruned = whole.map((text) => JSON.stringify(prune(text)));
    expect(pruned.join("").length).toBeLessThan(whole.join("").length / 4);
  });

  it("leave all that is read of any object, with members of the same name as well", () => {
    const inner = fc.constantFrom(
      ...githubKeys,
      "owner",
      "node_id",
      "__proto__",
      "toString",
      "\\u0069d",
    );
    const outer = fc.oneof(
      { weight: 4, arbitrary: fc.constantFrom(...types, "alert", "comment", "issue", "member") },
      {
        weight: 3,
        arbitrary: fc.constantFrom(
          ..."action repository organization installation sender ref pages account".split(" "),
        ),
      },
      { weight: 1, arbitrary: inner },
    );
    const scalar = fc.oneof(
      fc.constantFrom(
        "1",
        "-0",
        "1.5",
        "true",
        "null",
        '""',
        '" "',
        '"https://x"',
        '"refs/heads/b"',
      ),
      fc.string().map((text) => JSON.stringify(text)),
    );
    const { object } = fc.letrec<{ value: string; object: string }>((tie) => ({
      value: fc.oneof(
        { maxDepth: 5 },
        scalar,
        fc.array(tie("value"), { maxLength: 3 }).map((values) => `[${values.join(", ")}]`),
        tie("object"),
      ),
      object: members(inner, tie("value"), 6),
    }));
    const body = members(outer, fc.oneof(scalar, object, object), 12);
    fc.assert(
      fc.property(fc.constantFrom(...types), body, (type, text) => {
        expect(read(type, prune(text))).toEqual(read(type, JSON.parse(text) as JsonObject));
      }),
      { numRuns: 5_000 },
    );
  });
});

/** The text of an object, in which a name may come twice. */
const members = (names: fc.Arbitrary<string>, values: fc.Arbitrary<string>, maxLength: number) =>
  fc
    .array(
      fc.tuple(names, values).map(([name, value]) => `"${name}": ${value}`),
      { maxLength },
    )
    .map((all) => `{${all.join(",")}}`);

/** The table is nobody else's business, but the summary asks whether it has a type. */
function typesInTable(): string[] {
  const hasOwn = vi.spyOn(Object, "hasOwn");
  summarizeGithub("issues", {});
  const [table] = hasOwn.mock.calls.find(([, name]) => name === "issues") ?? [];
  hasOwn.mockRestore();
  if (!table) throw new Error("summarizeGithub has no table of types any more");
  return Object.keys(table);
}
