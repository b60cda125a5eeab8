/**
 * Reads the rows of the table `apps` of a legacy system. Each row stays a separate app: if two slugs
 * become equal, the second slug gets a number. Pure.
 */

import { isObject, type Json, type JsonObject } from "../../json.ts";
import { APP_SLUG, appSlugFor } from "../app-slug.ts";
import { snakeCase } from "../tool-name.ts";

export interface AppRow {
  /** Only the fields of an app, with a valid slug. */
  app: JsonObject;
  notes: string[];
}

export interface AppRows {
  byId: ReadonlyMap<string, AppRow>;
  /** By the slug of the row, or by its name or id if it has no slug. */
  byLabel: ReadonlyMap<string, AppRow>;
}

/** Derives a slug from a text. A valid slug stays unchanged. */
export const slugFrom = (text: string, number = 1): string =>
  number === 1 && APP_SLUG.test(text) ? text : appSlugFor(text, number);

/** Whether the text has a character that a slug can contain. */
export const hasSlugCharacters = (text: string): boolean => snakeCase(text, "") !== "";

export function readAppRows(rows: Json | undefined): AppRows {
  const byId = new Map<string, AppRow>();
  const byLabel = new Map<string, AppRow>();
  const objects = (Array.isArray(rows) ? rows : []).filter(isObject);
  // Rows with a valid slug are read first, so that they keep it.
  const hasValidSlug = (row: JsonObject) => APP_SLUG.test(labelOf(row));
  const ordered = [...objects.filter(hasValidSlug), ...objects.filter((row) => !hasValidSlug(row))];
  const takenSlugs = new Set<string>();
  for (const row of ordered) {
    const appRow = readAppRow(row, takenSlugs);
    takenSlugs.add(String(appRow.app.slug));
    if (hasContent(row.id)) byId.set(String(row.id), appRow);
    if (!byLabel.has(labelOf(row))) byLabel.set(labelOf(row), appRow);
  }
  return { byId, byLabel };
}

function readAppRow(row: JsonObject, takenSlugs: ReadonlySet<string>): AppRow {
  const label = labelOf(row);
  let number = 1;
  while (takenSlugs.has(slugFrom(label, number))) number += 1;
  const slug = slugFrom(label, number);
  const app = {
    slug,
    name: hasContent(row.name) ? (row.name as Json) : label,
    description: row.description ?? "",
  };
  if (slug === label || (number === 1 && !hasContent(row.slug))) return { app, notes: [] };
  const reason =
    number === 1 ? "is not a valid slug" : `cannot be ${slugFrom(label)}, which another app has`;
  return { app, notes: [`app.slug: ${JSON.stringify(label)} ${reason}; it is now ${slug}.`] };
}

const labelOf = ({ id, slug, name }: JsonObject): string =>
  String([slug, name, id].find(hasContent) ?? "");

const hasContent = (value: Json | undefined): boolean =>
  value !== undefined && value !== null && value !== "";
