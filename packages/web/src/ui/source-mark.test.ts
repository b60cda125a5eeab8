import { expect, it } from "vitest";
import { markOf } from "./source-mark.tsx";

it.each([
  ["github", "GH"],
  ["weather-7kq2xv", "WE"],
  ["天気", "天気"],
  ["-", "??"],
])("abbreviates the source %s to %s", (source, mark) => expect(markOf(source)).toBe(mark));
