import { expect, test } from "vitest";
import { iconOf, UNKNOWN_ICON } from "./node-icon.tsx";
import { registry } from "./node-kinds.ts";

test.each([...registry.keys()])("%s has its own icon", (type) =>
  expect(iconOf(type)).not.toBe(UNKNOWN_ICON),
);

test("a type that this page does not know has one too", () =>
  expect(iconOf("Later")).toBe(UNKNOWN_ICON));
