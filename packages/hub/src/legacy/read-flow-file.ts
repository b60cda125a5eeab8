/**
 * Reads a file of flows, grouped by app: one flow, an array of flows, `{ app, flows }`, or
 * `{ apps, flows }`, where `appId` of a flow is the `id` of an app. Accepts exports of this hub, and
 * rows of a legacy system, whose columns may be in snake_case and contain JSON as text. Pure.
 */
import { issuesOf } from "@signalbox/rules/flows/issues.ts";
import { appSchema } from "@signalbox/rules/flows/model.ts";
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { normalizeColumnName } from "../lib/normalize-column-name.ts";
import { RequestError } from "../lib/request-error.ts";
import { type AppRow, type AppRows, hasSlugCharacters, readAppRows, slugFrom } from "./app-rows.ts";
import { ignoredFields } from "./import-flow.ts";

export interface AppFile {
  app: { slug: string; name: string; description: string };
  flows: JsonObject[];
  /** Messages about ignored fields and changed slugs. */
  notes: string[];
  /** Why the app is invalid. The other apps of the file can be imported. */
  error?: string;
}

/** `app` overrides the app of every flow. */
export function readFlowFile(content: Json, app?: string): AppFile[] {
  const files = new Map<string, AppFile>();
  for (const { owner, flow, notes } of flowsIn(content, app)) {
    const read = appOf(owner);
    const key = JSON.stringify([read.app.slug, read.error]);
    const file = files.get(key) ?? { ...read, flows: [], notes: [] };
    file.flows.push(flow);
    const ignored = ignoredFields("app.", owner, Object.keys(appSchema.shape), "an app");
    file.notes = [...new Set([...file.notes, ...notes, ...ignored])];
    files.set(key, file);
  }
  return [...files.values()];
}

const OWNERS = ["app", "appSlug", "appId"];

interface FoundFlow {
  owner: Json | undefined;
  flow: JsonObject;
  notes: string[];
}

interface Parents {
  app?: Json | undefined;
  apps?: AppRows;
  notes?: string[];
}

function flowsIn(content: Json, given: Json | undefined, parents: Parents = {}): FoundFlow[] {
  if (Array.isArray(content)) return content.flatMap((one) => flowsIn(one, given, parents));
  if (!isObject(content))
    throw new RequestError(
      "invalid",
      "file",
      "must contain a flow, an array of flows, or { app, flows }",
    );
  const { notes = [] } = parents;
  const fields = fieldsOf(content);
  const row = given === undefined ? findRow(fields, parents) : undefined;
  const owner = given ?? row?.app ?? fields.app ?? fields.appSlug ?? fields.appId ?? parents.app;
  if (!Array.isArray(content.flows))
    return [{ owner, flow: parseTextColumns(fields), notes: [...notes, ...(row?.notes ?? [])] }];
  const ignored = ignoredFields("", content, [...OWNERS, "apps", "flows"], "a file of flows");
  return flowsIn(content.flows, given, {
    app: owner,
    apps: readAppRows(content.apps),
    notes: [...notes, ...ignored],
  });
}

/** `appId` is the id of a row, or else its slug, as in the other fields. */
function findRow(fields: JsonObject, { app, apps }: Parents): AppRow | undefined {
  const slug = fields.app ?? fields.appSlug ?? fields.appId ?? app;
  if (slug === undefined) return undefined;
  const byId = slug === fields.appId ? apps?.byId.get(String(slug)) : undefined;
  return byId ?? (typeof slug === "string" ? apps?.byLabel.get(slug) : undefined);
}

const FIELDS = new Map(
  [...OWNERS, "toolName", "toolDescription", "isActive"].map((field) => [
    normalizeColumnName(field),
    field,
  ]),
);

/** Renames the columns of a row to the fields of a flow. */
export function fieldsOf(row: JsonObject): JsonObject {
  const fields = Object.entries(row).map(([column, value]): [string, Json] => {
    const field = FIELDS.get(normalizeColumnName(column)) ?? column;
    return [Object.hasOwn(row, field) ? column : field, value];
  });
  return Object.fromEntries(fields);
}

function appOf(owner: Json | undefined): Pick<AppFile, "app" | "error"> {
  if (owner === undefined || owner === null || owner === "")
    throw new RequestError("invalid", "app", "Name the app of the flows: --app SLUG.");
  const { slug, name, description } = isObject(owner) ? owner : { slug: owner };
  const label = String(slug ?? name ?? "");
  const app = {
    // Without a Latin letter or a digit, the label does not name the app.
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
