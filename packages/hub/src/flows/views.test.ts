import { expect, it } from "vitest";
import { firstFindings } from "./views.ts";

it("returns at most 100 findings, and the number of the others", () => {
  const findings = Array.from({ length: 1_583 }, (_, index) => ({
    code: "x",
    message: String(index),
  }));
  expect(firstFindings(findings.slice(0, 100))).toEqual(findings.slice(0, 100));
  const first = firstFindings(findings);
  expect(first).toHaveLength(101);
  expect(first.at(-1)).toEqual({ code: "more", message: "and 1,483 more" });
});
