import { expect, it } from "vitest";
import { findCycles, listProductFiles } from "./product-files.ts";

it("finds no cycle of imports, types included", () => {
  expect(findCycles(listProductFiles())).toEqual([]);
});

it("finds a cycle through an import of a type", () => {
  const files = [
    { path: "a.ts", text: 'import type { B } from "./b.ts";' },
    { path: "b.ts", text: 'export { c } from "./c.ts";' },
    { path: "c.ts", text: 'export const c = () => import("./a.ts");' },
    { path: "d.ts", text: 'import { c } from "./c.ts";' },
  ];
  expect(findCycles(files)).toEqual([["a.ts", "b.ts", "c.ts"]]);
});
