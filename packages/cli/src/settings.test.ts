import { expect, it } from "vitest";
import { localUrl } from "./settings.ts";

it.each([
  ["127.0.0.1", "http://127.0.0.1:4747"],
  ["localhost", "http://localhost:4747"],
  ["::1", "http://[::1]:4747"],
  ["0.0.0.0", "http://127.0.0.1:4747"],
  ["::", "http://127.0.0.1:4747"],
  ["0:0:0:0:0:0:0:0", "http://127.0.0.1:4747"],
])("host %s has the local URL %s", (host, url) => {
  expect(localUrl({ host, port: 4747 })).toBe(url);
});
