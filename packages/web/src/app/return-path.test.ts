import { expect, it } from "vitest";
import { returnPathAt } from "./return-path.ts";

const pathFor = (pathname: string, returnTo?: string) =>
  returnPathAt({
    pathname,
    search: returnTo === undefined ? "" : `?return_to=${encodeURIComponent(returnTo)}`,
  });

it("returns the open page, or the page that the URL of the sign-in page names", () => {
  expect(returnPathAt({ pathname: "/runs", search: "?view=failed" })).toBe("/runs?view=failed");
  expect(pathFor("/sign-in")).toBe("/inbox");
  expect(pathFor("/sign-in", "/oauth/authorize?a=1")).toBe("/oauth/authorize?a=1");
});

it.each([
  "//example.com",
  "/\\example.com",
  "/\t/example.com",
  "https://example.com",
  "javascript:1",
])("returns the inbox instead of a page of another site: %j", (returnTo) => {
  expect(pathFor("/sign-in", returnTo)).toBe("/inbox");
});
