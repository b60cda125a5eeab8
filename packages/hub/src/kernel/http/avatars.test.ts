import { expect, it } from "vitest";
import { allowedAvatar, avatarOrigins } from "./avatars.ts";

it("allows only avatars of GitHub", () => {
  const origins = avatarOrigins("https://github.com");
  const url = "https://avatars.githubusercontent.com/u/7?v=4";
  expect(allowedAvatar(url, origins)).toBe(url);
  for (const other of ["https://example.com/u/7", "javascript:alert(1)", "nonsense", null])
    expect(allowedAvatar(other, origins)).toBeNull();
});

it("allows avatars of GitHub Enterprise Server, with and without subdomain isolation", () => {
  expect(avatarOrigins("https://github.acme.com:8443")).toEqual([
    "https://github.acme.com:8443",
    "https://avatars.github.acme.com:8443",
  ]);
  expect(avatarOrigins("http://127.0.0.1:9")).toEqual(["http://127.0.0.1:9"]);
});
