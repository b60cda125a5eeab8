import { expect, test } from "vitest";
import { parseRange, rangeResponse } from "./range.ts";

test.each([
  ["bytes=0-99", { from: 0, to: 99 }],
  ["bytes=990-", { from: 990, to: 999 }],
  ["bytes=990-5000", { from: 990, to: 999 }],
  ["bytes=-10", { from: 990, to: 999 }],
  ["bytes=-5000", { from: 0, to: 999 }],
  ["bytes=1000-", "unsatisfiable"],
  ["bytes=-0", "unsatisfiable"],
  ["bytes=5-4", undefined],
  ["bytes=0-1,3-4", undefined],
  ["bytes=-", undefined],
  ["lines=0-1", undefined],
  [null, undefined],
] as const)("parses the header %s for 1,000 bytes", (header, range) => {
  expect(parseRange(header, 1_000)).toEqual(range);
});

test("responds with all bytes, with the requested range, or with 416 and the size", async () => {
  const bytes = new TextEncoder().encode('"0123456789"');
  const get = (header: string | null) => rangeResponse(bytes, "application/json", header);
  expect(await get(null).json()).toBe("0123456789");
  const part = get("bytes=1-3");
  expect([part.status, part.headers.get("content-range")]).toEqual([206, "bytes 1-3/12"]);
  expect(await part.text()).toBe("012");
  const outside = get("bytes=12-");
  expect([outside.status, outside.headers.get("content-range")]).toEqual([416, "bytes */12"]);
});
