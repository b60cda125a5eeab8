import { expect, it } from "vitest";
import { firstFindings } from "./first-findings.ts";

it("returns all findings, or 100 and the number of the others", () => {
  const findings = Array.from({ length: 1_583 }, (_, at) => ({ code: "x", message: String(at) }));
  expect(firstFindings(findings.slice(0, 100))).toEqual(findings.slice(0, 100));
  const first = firstFindings(findings);
  expect(first).toHaveLength(101);
  expect(first.at(-1)).toEqual({ code: "more", message: "and 1,483 more" });
});
