import { expect, it } from "vitest";
import { createPrefixedLines } from "./prefix-lines.ts";

it("writes whole lines with the prefix, even if a chunk ends inside a line", () => {
  let written = "";
  const lines = createPrefixedLines("[7] ", (text) => {
    written += text;
  });
  lines.push("o");
  expect(written).toBe("");
  for (const chunk of ["ne\ntwo\n\nth", "ree"]) lines.push(chunk);
  lines.end();
  lines.end();
  expect(written).toBe("[7] one\n[7] two\n[7] \n[7] three\n");
});

it("writes a long line in parts, before it ends", () => {
  let written = 0;
  const lines = createPrefixedLines("", (text) => {
    written += text.length;
  });
  for (let at = 0; at < 100; at += 1) lines.push("x".repeat(10_000));
  expect(written).toBeGreaterThan(900_000);
});
