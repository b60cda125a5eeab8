/**
 * Reads a file of flows, grouped by app: one flow, an array of flows, `{ app, flows }`, or
 * `{ apps, flows }`, where `appId` of a flow is the `id` of an app. Accepts exports of this hub, and
 * rows of a legacy system, whose columns may be in snake_case and contain JSON as text. Pure.
 */
import { issuesOf } from "@signalbox/rules/flows/issues.ts";
import { appSchema } from "@signalbox/rules/flows/model.ts";
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { normalizeColumnName } from "../lib/normalize-column-name.ts";
import { RequestError, validationError } from "../lib/request-error.ts";
import { ignoredFields } from "./import-flow.ts";

export interface AppFile {
  app: { slug: string; name: string; description: string };
  flows: JsonObject[];
  /** Messages about ignored fields. */
  notes: string[];
}

/** `app` overrides the app of every flow. */
export function readFlowFile(content: Json, app?: string): AppFile[] {
  const files = new Map<string, AppFile>();
  for (const { owner, flow, notes } of flowsIn(content, app)) {
    const read = appOf(owner);
    const file = files.get(read.slug) ?? { app: read, flows: [], notes: [] };
    file.flows.push(flow);
    const ignored = ignoredFields("app.", owner, Object.keys(appSchema.shape), "an app");
    file.notes = [...new Set([...file.notes, ...notes, ...ignored])];
    files.set(read.slug, file);
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
  /** The rows of apps, by id. */
  apps?: ReadonlyMap<string, JsonObject>;
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
  const row = parents.apps?.get(String(fields.appId));
  const owner = given ?? fields.app ?? fields.appSlug ?? row ?? fields.appId ?? parents.app;
  if (!Array.isArray(content.flows)) return [{ owner, flow: parseTextColumns(fields), notes }];
  const ignored = ignoredFields("", content, [...OWNERS, "apps", "flows"], "a file of flows");
  return flowsIn(content.flows, given, {
    app: owner,
    apps: appsIn(content.apps),
    notes: [...notes, ...ignored],
  });
}

/** Only the fields of an app: rows of a legacy system have more columns. */
const appsIn = (rows: Json | undefined): Map<string, JsonObject> =>
  new Map(
    (Array.isArray(rows) ? rows : [])
      .filter(isObject)
      .map(({ id, slug, name, description }) => [
        String(id),
        Object.fromEntries(
          Object.entries({ slug, name, description }).filter(([, value]) => value !== undefined),
        ) as JsonObject,
      ]),
  );

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

function appOf(owner: Json | undefined): AppFile["app"] {
  if (owner === undefined || owner === null || owner === "")
    throw new RequestError("invalid", "app", "Name the app of the flows: --app SLUG.");
  const { slug, name, description } = isObject(owner) ? owner : { slug: owner };
  const label = String(slug ?? name ?? "");
  const parsed = appSchema.safeParse({
    slug: slugOf(label),
    name: name ?? label,
    description: description ?? "",
  });
  if (parsed.success) return parsed.data;
  throw validationError(
    issuesOf(parsed.error).map(({ path, message }) => ({
      path: `app.${path}`,
      message: `${JSON.stringify(owner).slice(0, 100)}: ${message}`,
    })),
  );
}

const slugOf = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .slice(0, 63)
    .replace(/^-+|-+$/g, "");

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
