import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

/** Claude Code redacts the rest of an error after this text. */
const REDACTED = /token["'`]?\s*[:=]/i;

const literalsOf = (source: string) =>
  source.replaceAll(/\/\*[\s\S]*?\*\/|(?<!:)\/\/.*/g, "").match(/"[^"\n]*"|`[^`]*`/g) ?? [];

it("has no message with a text after which Claude Code redacts the rest", () => {
  expect(literalsOf("f(`no token: check it`, 'x', token: 7)").filter(isRedacted)).toHaveLength(1);
  const files = globSync("*.ts", { cwd: import.meta.dirname, exclude: ["*.test.ts"] });
  expect(files).toContain("hub-client.ts");
  for (const file of files) {
    const source = readFileSync(join(import.meta.dirname, file), "utf8");
    expect(literalsOf(source).filter(isRedacted), file).toEqual([]);
  }
});

const isRedacted = (text: string) => REDACTED.test(text);
