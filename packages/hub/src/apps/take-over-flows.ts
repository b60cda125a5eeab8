/**
 * Takes over the flows that an older system has left in the hub's own database, by the rules that
 * files are imported by. A row that makes no flow is told, and keeps none of the others back.
 */
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { type Json, type JsonObject, setOwn } from "@signalbox/rules/json.ts";
import { type AppFile, fieldsOf, readFlowFile } from "../legacy/read-flow-file.ts";
import { normalizeColumnName } from "../lib/normalize-column-name.ts";
import { RequestError } from "../lib/request-error.ts";
import type { LegacyApp, StoredFlow } from "../store/flow-store.ts";
import type { Row } from "../store/sql.ts";
import type { Store } from "../store/store.ts";
import { finishDraft } from "./finish-draft.ts";
import { importDraft } from "./import-draft.ts";
import { detailOf, freeIds, type ImportedFlow, planImport } from "./import-flows.ts";
import { ALIAS_MS, publicationOf } from "./publication.ts";

export interface TakeOverOptions {
  store: Pick<Store, "migrateLegacyFlows">;
  registry: NodeRegistry;
  /** Whose flows those are that do not say it; undefined where nobody can tell. */
  tenant: string | undefined;
  newId: () => string;
  now: () => number;
}

interface TakenFlow extends ImportedFlow {
  not_published?: string;
}

export interface TakenApp {
  tenant: string;
  app: string;
  flows: TakenFlow[];
  notes: string[];
}

/** A row that is no flow here, and why. */
interface RefusedRow {
  id: string;
  name: string;
  reason: string;
}

export type TakenOver =
  | { outcome: "none" }
  /** No row says whose it is: the table was left. */
  | { outcome: "no_tenant"; rows: number }
  | { outcome: "migrated"; apps: TakenApp[]; refused: RefusedRow[]; table: string };

interface TenantFile extends AppFile {
  tenant: string;
}

interface Conversion {
  app: LegacyApp;
  told(saved: readonly StoredFlow[]): TakenApp;
}

export async function migrateLegacyFlows(options: TakeOverOptions): Promise<TakenOver> {
  let rows = 0;
  let refused: RefusedRow[] = [];
  let conversions: Conversion[] = [];
  const taken = await options.store.migrateLegacyFlows((found, apps) => {
    rows = found.length;
    const read = readRows(found, apps, options);
    refused = read.refused;
    conversions = read.files.map((file) => conversionOf(file, options));
    const nobodys = refused.filter(({ reason }) => reason === NOBODYS).length;
    return rows > 0 && nobodys === rows ? undefined : conversions.map(({ app }) => app);
  });
  if (taken.outcome !== "migrated")
    return taken.outcome === "postponed" ? { outcome: "no_tenant", rows } : { outcome: "none" };
  const apps = conversions.map(({ told }, nth) => told(taken.apps[nth] ?? []));
  return { outcome: "migrated", apps, refused, table: taken.table };
}

function conversionOf(
  { tenant, app, flows, notes }: TenantFile,
  { registry, newId, now }: TakeOverOptions,
): Conversion {
  const at = now();
  const { plan, told } = planImport(
    flows,
    { replace: false, strictIds: false },
    { registry, newId },
  );
  const reasons = new Map<string, string>();
  const publish: LegacyApp["publish"] = (flow) => {
    const words = { note: "Taken over", by: "signalbox", at, aliasUntil: at + ALIAS_MS };
    try {
      return publicationOf(flow, registry, words);
    } catch (error) {
      reasons.set(flow.id, (error as Error).message);
      return undefined;
    }
  };
  return {
    app: { app: { tenant, ...app, created_at: at, updated_at: at }, plan, publish },
    told: (saved) => ({
      tenant,
      app: app.slug,
      flows: told(saved).map((flow) => {
        const reason = reasons.get(flow.id);
        return reason === undefined ? flow : { ...flow, not_published: reason };
      }),
      notes,
    }),
  };
}

/** App by app, with what is not to be had at all told apart. */
function readRows(
  rows: readonly Row[],
  apps: readonly Row[],
  { registry, tenant: local }: TakeOverOptions,
): { files: TenantFile[]; refused: RefusedRow[] } {
  const files = new Map<string, TenantFile>();
  const refused: RefusedRow[] = [];
  const byId = new Map(apps.map((row) => [String(row.id), row]));
  for (const row of rows)
    try {
      const { tenant: theirs, flow } = readRow(row);
      const tenant = isGiven(theirs) ? String(theirs) : local;
      if (tenant === undefined) throw new Error(NOBODYS);
      for (const file of readFlowFile({ app: NO_APP, flows: [ownedBy(byId, flow)] })) {
        for (const one of file.flows) check(one, registry);
        const key = JSON.stringify([tenant, file.app.slug]);
        const known = files.get(key) ?? { ...file, tenant, flows: [] };
        known.flows.push(...file.flows);
        known.notes = [...new Set([...known.notes, ...file.notes])];
        files.set(key, known);
      }
    } catch (error) {
      refused.push({ id: textOf(row.id), name: textOf(row.name), reason: wordsOf(error) });
    }
  return { files: [...files.values()], refused };
}

const NOBODYS = "it does not say whose it is (tenant_id)";

/** The app of flows that name none. */
const NO_APP = "flows";

/** Its columns under the names that flows have in files, but whose it is. */
function readRow(row: Row): { tenant: Json | undefined; flow: JsonObject } {
  let tenant: Json | undefined;
  const flow: JsonObject = {};
  // What databases have and JSON has not: dates, say.
  for (const [column, value] of Object.entries(JSON.parse(JSON.stringify(row)) as JsonObject))
    switch (normalizeColumnName(column)) {
      case "tenantid":
        tenant = value;
        break;
      case "createdat":
      case "updatedat":
        break;
      case "isactive":
        // Not odd in a database without booleans.
        flow.isActive = value === 1 ? true : value === 0 ? false : value;
        break;
      default:
        if (isGiven(value)) setOwn(flow, column, value);
    }
  return { tenant, flow: fieldsOf(flow) };
}

/** With its app's own words, where that had a table too. */
function ownedBy(apps: ReadonlyMap<string, Row>, flow: JsonObject): JsonObject {
  const { app: named, appSlug = named, appId } = flow;
  const app = appSlug === undefined && appId !== undefined ? apps.get(String(appId)) : undefined;
  if (!app) return flow;
  const { slug, name, description } = readRow(app).flow;
  return { ...flow, app: { slug, name, description } as JsonObject };
}

/** So that what cannot be saved is known before anything is. */
function check(flow: JsonObject, registry: NodeRegistry): void {
  const { draft } = importDraft(flow, registry, new Set(), freeIds("edge", flow));
  const { name, description, toolNames } = finishDraft(draft, draft.nodes, new Set(), registry);
  for (const text of [name, description, ...toolNames.map((tool) => tool.name)])
    if (text.includes("\0"))
      throw new Error(`${JSON.stringify(text)} has a character that no text may have`);
  for (const tool of toolNames)
    if (tool.name.length > 500)
      throw new Error(`the tool name ${tool.name.slice(0, 50)}… is too long`);
}

const isGiven = (value: Json | undefined): value is Json =>
  value !== undefined && value !== null && value !== "";

const textOf = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : "";

const wordsOf = (error: unknown): string =>
  error instanceof RequestError ? detailOf(error) : (error as Error).message;
