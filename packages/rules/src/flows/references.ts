/** Finds the references in the parameters of nodes, and rewrites them when a node is renamed. */
import type { Json } from "../json.ts";
import { parseTemplate, type Reference, type TemplateError } from "./template.ts";
import { type Keys, mapTexts, visitTexts } from "./walk.ts";

export interface FoundReference extends Reference {
  /** The path of the string that contains the reference. */
  keys: Keys;
}

export interface FoundError extends TemplateError {
  keys: Keys;
}

/** Returns true for fields whose strings are not templates, such as code. */
export type SkipField = (keys: Keys) => boolean;
const skipNone: SkipField = () => false;

/** Returns the references and errors of all templates in a value. Omits duplicates within one string. */
export function templatesIn(
  value: Json,
  skip: SkipField = skipNone,
): { references: FoundReference[]; errors: FoundError[] } {
  const references: FoundReference[] = [];
  const errors: FoundError[] = [];
  visitTexts(value, (text, keys) => {
    if (!text.includes("{{") || skip(keys)) return;
    const template = parseTemplate(text);
    const seen = new Set<string>();
    for (const part of template.parts) {
      if (part.kind !== "reference") continue;
      const source = text.slice(part.start, part.end);
      if (!seen.has(source)) references.push({ ...part, keys });
      seen.add(source);
    }
    for (const error of template.errors) errors.push({ ...error, keys });
  });
  return { references, errors };
}

export const referencesIn = (value: Json, skip?: SkipField): FoundReference[] =>
  templatesIn(value, skip).references;

/** Replaces the root of the references to a node. The rest of each string does not change. */
export const renameReferences = (
  value: Json,
  oldSlug: string,
  newSlug: string,
  skip: SkipField = skipNone,
): Json =>
  mapTexts(value, (text, keys) => {
    if (!text.includes("{{") || skip(keys)) return text;
    let renamed = "";
    let at = 0;
    for (const part of parseTemplate(text).parts)
      if (part.kind === "reference" && part.root === oldSlug) {
        renamed += text.slice(at, part.rootStart) + newSlug;
        at = part.rootStart + oldSlug.length;
      }
    return renamed + text.slice(at);
  });
