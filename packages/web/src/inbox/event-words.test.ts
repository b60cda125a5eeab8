import { expect, it } from "vitest";
import { originOf, titleOf, typeOf } from "./event-words.ts";

it.each([
  ["issues", "opened", "issues.opened"],
  ["push", null, "push"],
  ["invoice.paid", "paid", "invoice.paid"],
  ["customer_created", "created", "customer_created"],
  ["ping", "ping", "ping"],
])("shows the type %s with the action %s as %s", (type, action, name) =>
  expect(typeOf({ type, action })).toBe(name),
);

it("uses the type as the title of an event without a title", () =>
  expect(titleOf({ title: " ", type: "push", action: null })).toBe("push"));

it("shows only the sender as the origin of an event without a repository", () =>
  expect(originOf({ repo: null, sender: "octocat" })).toBe("octocat"));
