import { expect, it } from "vitest";
import { createPrefixedLines } from "./prefix-lines.ts";

it("writes whole lines with the prefix, whatever the chunks", () => {
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

it("does not hold an endless line in memory", () => {
  let written = 0;
  const lines = createPrefixedLines("", (text) => {
    written += text.length;
  });
  for (let at = 0; at < 100; at += 1) lines.push("x".repeat(10_000));
  expect(written).toBeGreaterThan(900_000);
});
