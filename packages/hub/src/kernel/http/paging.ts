/** Times, pages and cursors in the API. */
import { z } from "zod";

export const iso = (ms: number) => new Date(ms).toISOString();

export const isoOrNull = (ms: number | null) => (ms === null ? null : iso(ms));

/** Returns a page. If it is full, another page may follow. */
export function page<Item, View>(
  items: readonly Item[],
  limit: number,
  cursorOf: (item: Item) => string,
  view: (item: Item) => View,
): { items: View[]; next_cursor: string | null } {
  const last = items.at(-1);
  return {
    items: items.map(view),
    next_cursor: items.length === limit && last !== undefined ? cursorOf(last) : null,
  };
}

/** The schema of one page of a list. */
export const pageOf = (item: z.ZodType) =>
  z.object({ items: z.array(item), next_cursor: z.string().nullable() });

/** Creates the opaque cursors of a list, which are valid for that list only. */
export const cursorFor = (
  list: "app" | "flow" | "run" | "step" | "connection" | "tenant" | "token" | "grant",
) => ({
  of: (key: string): string => `${list}:${key}`,
  query: z
    .string()
    .transform((text, context) => {
      const [, name, key] = /^([a-z]+):([\w-]{1,100})$/.exec(text) ?? [];
      if (name === list && key !== undefined) return key;
      context.addIssue({ code: "custom", message: "is not a cursor of this list" });
      return z.NEVER;
    })
    .optional()
    .describe("`next_cursor` of the previous page."),
});

/** A query parameter is a string, but its JSON Schema is that of an integer. */
export const limitWithDefault = (limit: number) =>
  z.preprocess(
    (text) => (typeof text === "string" && /^\d+$/.test(text) ? Number(text) : text),
    z
      .int("must be an integer")
      .min(1, "must be at least 1")
      .max(100, "must be at most 100")
      .default(limit),
  );

export const limitQuery = limitWithDefault(20);
