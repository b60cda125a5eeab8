import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { SourceDefinition } from "../admit/source.ts";
import { sources } from "./index.ts";

const folder = new URL("./", import.meta.url);
const definitions = readdirSync(folder).filter(
  (file) =>
    /^[a-z-]+\.ts$/.test(file) &&
    /\bdefineSource\(/.test(readFileSync(new URL(file, folder), "utf8")),
);

describe("the registry of sources", () => {
  it("finds the source files", () => {
    expect(definitions.length).toBeGreaterThanOrEqual(8);
  });

  it.each(definitions)("contains the source of %s under the name of the file", async (file) => {
    const exported = Object.values((await import(new URL(file, folder).href)) as object);
    const defined = exported.filter(
      (value): value is SourceDefinition =>
        typeof value === "object" && value !== null && "summarize" in value && "decode" in value,
    );
    expect(defined.map(({ id }) => id)).toEqual([file.replace(/\.ts$/, "")]);
    expect(sources).toContain(defined[0]);
  });

  it("contains each source once", () => {
    expect(new Set(sources.map(({ id }) => id)).size).toBe(sources.length);
    expect(sources).toHaveLength(definitions.length);
  });
});
