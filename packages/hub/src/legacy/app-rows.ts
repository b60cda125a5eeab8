/**
 * The rows of the table `apps` of a legacy system. Each row stays an app of its own: if two slugs
 * become the same, the second one gets a number. Pure.
 */
import { APP_SLUG, appSlugFor } from "@signalbox/rules/flows/app-slug.ts";
import { snakeCase } from "@signalbox/rules/flows/tool-name.ts";
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";

export interface AppRow {
  /** Only the fields of an app, with a valid slug. */
  app: JsonObject;
  notes: string[];
}

export interface AppRows {
  byId: ReadonlyMap<string, AppRow>;
  /** By the row's slug; by its name or id if it has no slug. */
  byLabel: ReadonlyMap<string, AppRow>;
}

/** A valid slug stays unchanged. */
export const slugFrom = (text: string, nth = 1): string =>
  nth === 1 && APP_SLUG.test(text) ? text : appSlugFor(text, nth);

/** Whether the text has a character that a slug can contain. */
export const hasSlugCharacters = (text: string): boolean => snakeCase(text, "") !== "";

export function readAppRows(rows: Json | undefined): AppRows {
  const byId = new Map<string, AppRow>();
  const byLabel = new Map<string, AppRow>();
  const all = (Array.isArray(rows) ? rows : []).filter(isObject);
  // Rows with a valid slug come first: they keep it.
  const isValid = (row: JsonObject) => APP_SLUG.test(labelOf(row));
  const taken = new Set<string>();
  for (const row of [...all.filter(isValid), ...all.filter((one) => !isValid(one))]) {
    const read = readAppRow(row, taken);
    taken.add(String(read.app.slug));
    if (isGiven(row.id)) byId.set(String(row.id), read);
    if (!byLabel.has(labelOf(row))) byLabel.set(labelOf(row), read);
  }
  return { byId, byLabel };
}

function readAppRow(row: JsonObject, taken: ReadonlySet<string>): AppRow {
  const label = labelOf(row);
  let nth = 1;
  while (taken.has(slugFrom(label, nth))) nth += 1;
  const slug = slugFrom(label, nth);
  const app = {
    slug,
    name: isGiven(row.name) ? (row.name as Json) : label,
    description: row.description ?? "",
  };
  if (slug === label || (nth === 1 && !isGiven(row.slug))) return { app, notes: [] };
  const reason =
    nth === 1 ? "is not a valid slug" : `cannot be ${slugFrom(label)}, which another app has`;
  return { app, notes: [`app.slug: ${JSON.stringify(label)} ${reason}; it is now ${slug}.`] };
}

const labelOf = ({ id, slug, name }: JsonObject): string =>
  String([slug, name, id].find(isGiven) ?? "");

const isGiven = (value: Json | undefined): boolean =>
  value !== undefined && value !== null && value !== "";
