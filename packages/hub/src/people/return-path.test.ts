import { expect, it } from "vitest";
import { returnPath } from "./return-path.ts";

it.each([
  ["/inbox?type=issues", "/inbox?type=issues"],
  ["/oauth/authorize?client_id=a&redirect_uri=http%3A%2F%2F127.0.0.1%3A1%2F", undefined],
  ["/flows/1#part", "/flows/1"],
])("returns the path %s", (requested, expected = requested) => {
  expect(returnPath(requested)).toBe(expected);
});

it.each([
  undefined,
  null,
  "",
  "inbox",
  "https://example.com/",
  "//example.com/",
  "/\\example.com/",
  "/\t/example.com/",
  "/.//example.com/",
  "/..//example.com/",
  "javascript:alert(1)",
  "/sign-in#code=abc",
  "/auth/github?return_to=/inbox",
  `/${"x".repeat(5_000)}`,
])("returns the start page instead of %j", (requested) => {
  expect(returnPath(requested)).toBe("/");
});
