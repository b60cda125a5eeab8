/** Slugs: the names of nodes in templates, as in `{{ slug.path }}`. */
import { freeNumber, MAX_NAME_LENGTH, numberedName, snakeCase } from "./tool-name.ts";

/** Names with another meaning in templates. */
export const reservedSlugs: readonly string[] = ["trigger", "secrets", "item", "index"];

export const SLUG_RULE =
  "A slug starts with a letter a–z, contains only a–z, 0–9 and _, has at most 64 characters, and is not trigger, secrets, item or index.";

export const isSlug = (text: string): boolean =>
  /^[a-z][a-z0-9_]*$/.test(text) && text.length <= MAX_NAME_LENGTH && !reservedSlugs.includes(text);

/** Derives a slug from a node's name. Appends `_2`, `_3`, … if the slug is taken or reserved. */
export const slugFor = (name: string, taken: ReadonlySet<string>): string =>
  createSlugNamer(taken)(name);

/**
 * Derives the slugs of many nodes. Each slug differs from `taken` and from the slugs returned before. It
 * takes linear time even if many nodes have the same name.
 */
export function createSlugNamer(taken: Iterable<string>): (name: string) => string {
  const used = new Set([...reservedSlugs, ...taken]);
  /** For each base name, the number to try next. */
  const nextNumbers = new Map<string, number>();
  return (name) => {
    const base = snakeCase(name, "node");
    const number = freeNumber(base, (slug) => used.has(slug), nextNumbers.get(base));
    const slug = numberedName(base, number);
    nextNumbers.set(base, number + 1);
    used.add(slug);
    return slug;
  };
}
