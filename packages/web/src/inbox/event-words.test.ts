import { expect, it } from "vitest";
import { originOf, titleOf, typeOf } from "./event-words.ts";

it.each([
  ["issues", "opened", "issues.opened"],
  ["push", null, "push"],
  ["invoice.paid", "paid", "invoice.paid"],
  ["customer_created", "created", "customer_created"],
  ["ping", "ping", "ping"],
])("names the type %s with the action %s", (type, action, name) =>
  expect(typeOf({ type, action })).toBe(name),
);

it("falls back to the type for events without a title", () => {
  expect(titleOf({ title: " ", type: "push", action: null })).toBe("push");
  expect(originOf({ repo: null, sender: "octocat" })).toBe("octocat");
});
