/**
 * Reads a file of flows, grouped by app: one flow, an array of flows, `{ app, flows }`, or
 * `{ apps, flows }`, where `appId` of a flow is the `id` of an app. Accepts exports of this hub, and
 * rows of a legacy system, whose columns may be in snake_case and contain JSON as text. Pure.
 */

import { isObject, type Json, type JsonObject } from "../../json.ts";
import { normalizeColumnName } from "../../normalize-column-name.ts";
import { RequestError } from "../../request-error.ts";
import { truncate } from "../../truncate.ts";
import { issuesOf } from "../issues.ts";
import { appSchema } from "../model.ts";
import { type AppRow, type AppRows, hasSlugCharacters, readAppRows, slugFrom } from "./app-rows.ts";

export interface AppFile {
  app: { slug: string; name: string; description: string };
  flows: JsonObject[];
  /** Messages about ignored fields and changed slugs. */
  notes: string[];
  /** Why the app is invalid. The other apps of the file can be imported. */
  error?: string;
}

/** `appOverride` is the app of all flows, even of flows that name another app. */
export function readFlowFile(content: Json, appOverride?: string): AppFile[] {
  const files = new Map<string, AppFile>();
  for (const { owner, flow, notes } of collectFlows(content, appOverride)) {
    const { app: flowApp, ...invalid } = readApp(owner);
    const key = JSON.stringify([flowApp.slug, invalid.error]);
    const file = files.get(key) ?? { app: flowApp, ...invalid, flows: [], notes: [] };
    file.flows.push(flow);
    const ignored = ignoredFields("app.", owner, Object.keys(appSchema.shape), "an app");
    file.notes = [...new Set([...file.notes, ...notes, ...ignored])];
    files.set(key, file);
  }
  return [...files.values()];
}

/** The fields of a flow that name its app. */
const OWNER_FIELDS = ["app", "appSlug", "appId"];

interface OwnedFlow {
  /** The app of the flow: its slug, or its fields. */
  owner: Json | undefined;
  flow: JsonObject;
  notes: string[];
}

/** The fields of the object that contains the flows. */
interface EnclosingFields {
  app?: Json | undefined;
  apps?: AppRows;
  notes?: string[];
}

function collectFlows(
  content: Json,
  appOverride: Json | undefined,
  enclosing: EnclosingFields = {},
): OwnedFlow[] {
  if (Array.isArray(content))
    return content.flatMap((item) => collectFlows(item, appOverride, enclosing));
  if (!isObject(content))
    throw new RequestError(
      "invalid",
      "file",
      "must contain a flow, an array of flows, or { app, flows }",
    );
  const { notes = [] } = enclosing;
  const fields = renameColumns(content);
  const row = appOverride === undefined ? findRow(fields, enclosing) : undefined;
  const owner =
    appOverride ?? row?.app ?? fields.app ?? fields.appSlug ?? fields.appId ?? enclosing.app;
  if (!Array.isArray(content.flows))
    return [{ owner, flow: parseTextColumns(fields), notes: [...notes, ...(row?.notes ?? [])] }];
  const ignored = ignoredFields("", content, [...OWNER_FIELDS, "apps", "flows"], "a file of flows");
  return collectFlows(content.flows, appOverride, {
    app: owner,
    apps: readAppRows(content.apps),
    notes: [...notes, ...ignored],
  });
}

/**
 * Finds the row of a flow's app. `appId` is the id or the slug of the row; the other fields are
 * slugs.
 */
function findRow(fields: JsonObject, { app, apps }: EnclosingFields): AppRow | undefined {
  const slug = fields.app ?? fields.appSlug ?? fields.appId ?? app;
  if (slug === undefined) return undefined;
  const byId = slug === fields.appId ? apps?.byId.get(String(slug)) : undefined;
  return byId ?? (typeof slug === "string" ? apps?.byLabel.get(slug) : undefined);
}

const FIELDS_BY_COLUMN = new Map(
  [...OWNER_FIELDS, "toolName", "toolDescription", "isActive"].map((field) => [
    normalizeColumnName(field),
    field,
  ]),
);

/** Renames the columns of a row to the fields of a flow, unless the row also has the field. */
export function renameColumns(row: JsonObject): JsonObject {
  const fields = Object.entries(row).map(([column, value]): [string, Json] => {
    const field = FIELDS_BY_COLUMN.get(normalizeColumnName(column)) ?? column;
    return [Object.hasOwn(row, field) ? column : field, value];
  });
  return Object.fromEntries(fields);
}

function readApp(owner: Json | undefined): Pick<AppFile, "app" | "error"> {
  if (owner === undefined || owner === null || owner === "")
    throw new RequestError("invalid", "app", "Name the app of the flows: --app SLUG.");
  const { slug, name, description } = isObject(owner) ? owner : { slug: owner };
  const label = String(slug ?? name ?? "");
  const app = {
    // A label without Latin letters and digits cannot become a slug. It stays, and is reported as invalid.
    slug: hasSlugCharacters(label) ? slugFrom(label) : label,
    name: name ?? label,
    description: description ?? "",
  };
  const parsed = appSchema.safeParse(app);
  if (parsed.success) return { app: parsed.data };
  const issues = issuesOf(parsed.error).map(
    ({ path, message }) => `app.${path}: ${JSON.stringify(owner).slice(0, 100)}: ${message}`,
  );
  return {
    app: { slug: app.slug, name: String(app.name), description: "" },
    error: issues.join("; "),
  };
}

const JSON_COLUMNS = ["nodes", "edges", "connections", "parameters"];

function parseTextColumns(flow: JsonObject): JsonObject {
  const columns = Object.entries(flow).map(([name, value]): [string, Json] => [
    name,
    JSON_COLUMNS.includes(name) && typeof value === "string" ? parseIfJson(value) : value,
  ]);
  return Object.fromEntries(columns);
}

function parseIfJson(text: string): Json {
  try {
    return JSON.parse(text) as Json;
  } catch {
    return text;
  }
}

/** Returns a message for each field that has a value but is not in `knownFields`. */
export function ignoredFields(
  path: string,
  value: Json | undefined,
  knownFields: readonly string[],
  container = "a flow",
): string[] {
  return Object.entries(isObject(value) ? value : {})
    .filter(
      ([name, fieldValue]) =>
        fieldValue !== undefined && fieldValue !== null && !knownFields.includes(name),
    )
    .map(
      ([name, fieldValue]) =>
        `${path}${name}: ${truncate(JSON.stringify(fieldValue), 201)} is not a field of ${container}, and was ignored.`,
    );
}
