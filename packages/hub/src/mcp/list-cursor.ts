/** Where a list goes on: to clients a word without a meaning, and good for that list only. */
import { invalidParams } from "./app-results.ts";

export const listCursor = (list: "tool" | "task") => ({
  of: (key: string): string => `${list}:${key}`,
  /** What comes after which; undefined: from the first one on, which some clients spell as "". */
  read(given: unknown): string | undefined {
    if (given === undefined || given === "") return undefined;
    const [, name, key] = /^([a-z]+):([^\0]{1,128})$/.exec(String(given).slice(0, 200)) ?? [];
    if (name !== list) throw invalidParams("cursor: is not one that this list gave out");
    return key;
  },
});
