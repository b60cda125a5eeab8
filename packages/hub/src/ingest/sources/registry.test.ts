import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { SourceDefinition } from "../source.ts";
import { sources } from "./index.ts";

const folder = new URL("./", import.meta.url);
const definitions = readdirSync(folder).filter(
  (file) =>
    /^[a-z-]+\.ts$/.test(file) &&
    /\bdefineSource\(/.test(readFileSync(new URL(file, folder), "utf8")),
);

describe("the registry of sources", () => {
  it("finds files to look at", () => {
    expect(definitions.length).toBeGreaterThanOrEqual(8);
  });

  it.each(definitions)("has what %s defines, under the file's name", async (file) => {
    const exported = Object.values((await import(new URL(file, folder).href)) as object);
    const defined = exported.filter(
      (value): value is SourceDefinition =>
        typeof value === "object" && value !== null && "summarize" in value && "decode" in value,
    );
    expect(defined.map(({ id }) => id)).toEqual([file.replace(/\.ts$/, "")]);
    expect(sources).toContain(defined[0]);
  });

  it("has each once", () => {
    expect(new Set(sources.map(({ id }) => id)).size).toBe(sources.length);
    expect(sources).toHaveLength(definitions.length);
  });
});
