import { expect, test } from "vitest";
import { iconOf, UNKNOWN_ICON } from "./node-icon.tsx";
import { registry } from "./node-kinds.ts";

test.each([...registry.keys()])("returns an icon for the type %s", (type) =>
  expect(iconOf(type)).not.toBe(UNKNOWN_ICON),
);

test("returns the fallback icon for an unknown type", () =>
  expect(iconOf("Later")).toBe(UNKNOWN_ICON));
