import { invalidParams } from "./sdk-errors.ts";

export const listCursor = (list: "tool" | "task") => ({
  encode: (key: string): string => `${list}:${key}`,
  /**
   * Returns the key after which the page starts; undefined for the first page (some clients send
   * "").
   */
  decode(cursor: unknown): string | undefined {
    if (cursor === undefined || cursor === "") return undefined;
    const [, name, key] = /^([a-z]+):([^\0]{1,128})$/.exec(String(cursor).slice(0, 200)) ?? [];
    if (name !== list) throw invalidParams("cursor: is not a cursor of this list");
    return key;
  },
});
