/** Slugs: the names of nodes in templates, as in `{{ slug.path }}`. */
import { NAME_LENGTH, snakeCase, uniqueName } from "./tool-name.ts";

/** The names that have another meaning in templates. */
export const reservedSlugs: readonly string[] = ["trigger", "secrets", "item", "index"];

export const SLUG_RULE =
  "A slug starts with a letter a–z, contains only a–z, 0–9 and _, has at most 64 characters, and is not trigger, secrets, item or index.";

export const isSlug = (text: string): boolean =>
  /^[a-z][a-z0-9_]*$/.test(text) && text.length <= NAME_LENGTH && !reservedSlugs.includes(text);

/** Derives a slug from a node's name. Appends `_2`, `_3`, … if the slug is taken or reserved. */
export const slugFor = (name: string, taken: { has(slug: string): boolean }): string =>
  uniqueName(snakeCase(name, "node"), (slug) => reservedSlugs.includes(slug) || taken.has(slug));
