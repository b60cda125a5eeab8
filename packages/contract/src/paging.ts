/** Times, pages and cursors in the API. */
import { z } from "zod";

export const time = z.iso.datetime();

/** The schema of one page of a list. */
export const pageOf = <Item extends z.ZodType>(item: Item) =>
  z.object({ items: z.array(item), next_cursor: z.string().nullable() });

/** The schema of a list that has no pages. */
export const listOf = <Item extends z.ZodType>(item: Item) => z.object({ items: z.array(item) });

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
export const integerQuery = <Schema extends z.ZodType<number>>(schema: Schema) =>
  z.preprocess(
    (text) => (typeof text === "string" && /^\d+$/.test(text) ? Number(text) : text),
    schema,
  );

export const limitWithDefault = (limit: number) =>
  integerQuery(
    z
      .int("must be an integer")
      .min(1, "must be at least 1")
      .max(100, "must be at most 100")
      .default(limit),
  );

export const limitQuery = limitWithDefault(20);
