import { expect, it } from "vitest";
import { validationError } from "./request-error.ts";

const errors = (count: number) =>
  Array.from({ length: count }, (_, at) => ({ path: `scopes.${at}`, message: "must be a scope" }));

it("lists the first 20 problems and the number of the others", () => {
  const error = validationError(errors(1_503));
  expect(error.errors).toHaveLength(20);
  expect(error.message).toMatch(/^scopes\.0: must be a scope; .*; and 1,483 more$/);
  expect(validationError(errors(20)).message).not.toContain("more");
  expect(validationError(errors(1))).toMatchObject({
    field: "scopes.0",
    message: "must be a scope",
  });
});

it("truncates long paths and messages", () => {
  const error = validationError([{ path: "x".repeat(100_000), message: "y".repeat(100_000) }]);
  expect(JSON.stringify(error.errors).length).toBeLessThan(3_000);
});
