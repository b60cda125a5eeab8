import { expect, it } from "vitest";
import { createLastLine, plainText } from "./last-line.ts";

function lastLineOf(...chunks: string[]): string | undefined {
  const last = createLastLine();
  for (const chunk of chunks) last.push(chunk);
  return last.read();
}

it.each([
  [["one\ntwo\n"], "two"],
  [["one\ntwo"], "two"],
  [["one\n\n  \n"], "one"],
  [["tr", "iaged\n", "\n"], "triaged"],
  [["10%\r50%\r100%\n"], "100%"],
  [["\u001b[32mdone\u001b[0m\n\u001b[0m\n"], "done"],
  [["a\u0000b\tc\u2028d\n"], "a b c d"],
  [["\r\n"], undefined],
  [[], undefined],
])("reads the last line of %o as %o", (chunks, expected) => {
  expect(lastLineOf(...chunks)).toBe(expected);
});

it("truncates a long line to 1000 characters, and does not split a surrogate pair", () => {
  const line = lastLineOf("x".repeat(998), `${"😀".repeat(20)}\n`);
  expect(line).toBe(`${"x".repeat(998)}…`);
  expect(lastLineOf("y".repeat(10_000_000))).toHaveLength(1_000);
});

it("replaces lone surrogates, which are not valid Unicode", () => {
  expect(plainText("a\ud800b")).toBe("a\ufffdb");
});
