import { expect, it } from "vitest";
import { withoutPassword } from "./without-password.ts";

it.each([
  ["postgres://user:hidden@host/db", "postgres://user:***@host/db"],
  [
    "postgres://host/db?password=hidden&sslmode=require",
    "postgres://host/db?password=***&sslmode=require",
  ],
  ["postgres://host/db?sslPassword=hidden", "postgres://host/db?sslPassword=***"],
  ["postgres://user:hid:den@h%ost:x/db", "postgres://…"],
  ["postgres://user:hidden@", "postgres://…"],
  ["sqlite:some.db", "sqlite:some.db"],
])("shows %s as %s", (url, shown) => {
  expect(withoutPassword(url)).toBe(shown);
});
