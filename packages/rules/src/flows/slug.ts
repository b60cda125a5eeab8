/** A node's name in templates: `{{ slug.path }}`. */
import { NAME_LENGTH, snakeCase, uniqueName } from "./tool-name.ts";

/** Templates use these names for other values. */
export const reservedSlugs: readonly string[] = ["trigger", "secrets", "item", "index"];

export const SLUG_RULE =
  "A slug starts with a letter a–z, contains only a–z, 0–9 and _, has at most 64 characters, and is not trigger, secrets, item or index.";

export const isSlug = (text: string): boolean =>
  /^[a-z][a-z0-9_]*$/.test(text) && text.length <= NAME_LENGTH && !reservedSlugs.includes(text);

/** Derived from a node's name, with `_2`, `_3`, … if it is taken in the flow or reserved. */
export const slugFor = (name: string, taken: { has(slug: string): boolean }): string =>
  uniqueName(snakeCase(name, "node"), (slug) => reservedSlugs.includes(slug) || taken.has(slug));
