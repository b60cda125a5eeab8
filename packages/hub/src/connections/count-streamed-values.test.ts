import { expect, it } from "vitest";
import { createValueCounter } from "./count-streamed-values.ts";

const count = (text: string, chunkSize: number): number => {
  const counter = createValueCounter();
  const bytes = new TextEncoder().encode(text);
  let values = 0;
  for (let start = 0; start < bytes.length; start += chunkSize)
    values = counter(bytes.subarray(start, start + chunkSize));
  return values;
};

it.each([
  ["[1,2,3]", 3],
  ['{"a":[1,{"b":"x,[{"}]}', 4],
  [String.raw`["\",[", "\\", ","]`, 3],
  [':"\\\ndata: {"a":[1,1,1]}\n\n', 4],
  [': a " in a comment\ndata: ["a",\ndata: "ü,"]\n\n', 2],
])("counts the values of %s, in chunks of any size", (text, values) => {
  for (const size of [1, 2, 3, 100]) expect(count(text, size)).toBe(values);
});
