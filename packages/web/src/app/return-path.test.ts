import { expect, it } from "vitest";
import { returnPathAt } from "./return-path.ts";

const at = (pathname: string, returnTo?: string) =>
  returnPathAt({
    pathname,
    search: returnTo === undefined ? "" : `?return_to=${encodeURIComponent(returnTo)}`,
  });

it("is the open page, or the one in the address of the sign-in page", () => {
  expect(returnPathAt({ pathname: "/runs", search: "?view=failed" })).toBe("/runs?view=failed");
  expect(at("/sign-in")).toBe("/inbox");
  expect(at("/sign-in", "/oauth/authorize?a=1")).toBe("/oauth/authorize?a=1");
});

it.each([
  "//example.com",
  "/\\example.com",
  "/\t/example.com",
  "https://example.com",
  "javascript:1",
])("is never a page of another site: %j", (given) => {
  expect(at("/sign-in", given)).toBe("/inbox");
});
