import { expect, it } from "vitest";
import { runSelect } from "./select.ts";

const data = { trigger: { list: [{ "a.b": 1 }, null], text: "x" } };

it("returns the JSON of the values at the paths", () => {
  const paths = [
    ["trigger", "list", 0, "a.b"],
    ["trigger", "list", 1],
    ["trigger", "list", 2],
    ["trigger", "list", "length"],
    ["trigger", "toString"],
    ["trigger", "text", 0],
    [],
  ];
  const result = runSelect({ paths, maxBytes: 1_000 }, JSON.stringify(data));
  expect(result).toEqual({
    log: [],
    output: "[4,3,3,3,2,3,0]",
    parts: ["1", "null", undefined, undefined, undefined, undefined, JSON.stringify(data)],
  });
});

it("fails before it serializes values that exceed the limit", () => {
  const path = ["trigger", "text"];
  const paths = Array<string[]>(1_000_000).fill(path);
  const large = { trigger: { text: "x".repeat(1_000_000) } };
  expect(runSelect({ paths, maxBytes: 8_000_000 }, JSON.stringify(large))).toEqual({
    log: [],
    error: "selection_too_large",
    message: "exceeds the limit of 8000000 bytes of JSON at trigger.text",
  });
});
