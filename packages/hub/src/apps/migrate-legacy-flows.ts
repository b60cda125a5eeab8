/**
 * Migrates the flows that a legacy system left in the hub's database, by the rules for imported
 * files. A row that is not a valid flow is reported; the others are migrated.
 */
import type { Evaluate } from "@signalbox/rules/flows/evaluation.ts";
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { type Json, type JsonObject, setOwn } from "@signalbox/rules/json.ts";
import { type AppFile, fieldsOf, readFlowFile } from "../legacy/read-flow-file.ts";
import { normalizeColumnName } from "../lib/normalize-column-name.ts";
import { RequestError } from "../lib/request-error.ts";
import type { LegacyApp, StoredFlow } from "../store/flow-store.ts";
import type { Row } from "../store/sql.ts";
import type { Store } from "../store/store.ts";
import {
  AnalysisMissing,
  createExpressionAnalysis,
  type RequireAnalyses,
} from "./expression-analysis.ts";
import { finishDraft } from "./finish-draft.ts";
import { importDraft } from "./import-draft.ts";
import { detailOf, type ImportedFlow, planImport, unusedIds } from "./import-flows.ts";
import { ALIAS_MS, publicationOf } from "./publication.ts";

export interface MigrationOptions {
  store: Pick<Store, "migrateLegacyFlows">;
  registry: NodeRegistry;
  evaluate: Evaluate;
  /** The tenant of rows without one; undefined if the hub has no default tenant. */
  tenant: string | undefined;
  newId: () => string;
  now: () => number;
}

interface MigratedFlow extends ImportedFlow {
  not_published?: string;
}

export interface MigratedApp {
  tenant: string;
  app: string;
  flows: MigratedFlow[];
  notes: string[];
}

/** A row that is not migrated, and why. */
interface RejectedRow {
  id: string;
  name: string;
  reason: string;
}

export type LegacyMigration =
  | { outcome: "none" }
  /** No row has a tenant: the table is unchanged. */
  | { outcome: "no_tenant"; rows: number }
  | { outcome: "migrated"; apps: MigratedApp[]; rejected: RejectedRow[]; table: string };

interface TenantFile extends AppFile {
  tenant: string;
}

interface Conversion {
  app: LegacyApp;
  report(saved: readonly StoredFlow[]): MigratedApp;
}

export async function migrateLegacyFlows(options: MigrationOptions): Promise<LegacyMigration> {
  let rows = 0;
  let rejected: RejectedRow[] = [];
  let conversions: Conversion[] = [];
  const withAnalyses = createExpressionAnalysis(options.evaluate, options.registry);
  const migrated = await withAnalyses(options.tenant ?? "", (requireAnalyses) =>
    options.store.migrateLegacyFlows((found, apps) => {
      rows = found.length;
      const read = readRows(found, apps, options);
      rejected = read.rejected;
      conversions = read.files.map((file) => conversionOf(file, options, requireAnalyses));
      const withoutTenant = rejected.filter(({ reason }) => reason === NO_TENANT).length;
      return rows > 0 && withoutTenant === rows ? undefined : conversions.map(({ app }) => app);
    }),
  );
  if (migrated.outcome !== "migrated")
    return migrated.outcome === "postponed" ? { outcome: "no_tenant", rows } : { outcome: "none" };
  const apps = conversions.map(({ report }, nth) => report(migrated.apps[nth] ?? []));
  return { outcome: "migrated", apps, rejected, table: migrated.table };
}

function conversionOf(
  { tenant, app, flows, notes }: TenantFile,
  { registry, newId, now }: MigrationOptions,
  requireAnalyses: RequireAnalyses,
): Conversion {
  const at = now();
  const { plan, report } = planImport(
    flows,
    { replace: false, strictIds: false },
    { registry, newId },
  );
  const reasons = new Map<string, string>();
  const publish: LegacyApp["publish"] = (flow) => {
    const version = { note: "Migrated", by: "signalbox", at, aliasUntil: at + ALIAS_MS };
    try {
      return publicationOf(flow, registry, version, requireAnalyses);
    } catch (error) {
      if (error instanceof AnalysisMissing) throw error;
      reasons.set(flow.id, (error as Error).message);
      return undefined;
    }
  };
  return {
    app: { app: { tenant, ...app, created_at: at, updated_at: at }, plan, publish },
    report: (saved) => ({
      tenant,
      app: app.slug,
      flows: report(saved).map((flow) => {
        const reason = reasons.get(flow.id);
        return reason === undefined ? flow : { ...flow, not_published: reason };
      }),
      notes,
    }),
  };
}

/** Groups the valid rows by app. */
function readRows(
  rows: readonly Row[],
  apps: readonly Row[],
  { registry, tenant: defaultTenant }: MigrationOptions,
): { files: TenantFile[]; rejected: RejectedRow[] } {
  const files = new Map<string, TenantFile>();
  const rejected: RejectedRow[] = [];
  const byId = new Map(apps.map((row) => [String(row.id), row]));
  for (const row of rows)
    try {
      const { tenant: tenantId, flow } = readRow(row);
      const tenant = isGiven(tenantId) ? String(tenantId) : defaultTenant;
      if (tenant === undefined) throw new Error(NO_TENANT);
      for (const file of readFlowFile({ app: DEFAULT_APP, flows: [withApp(byId, flow)] })) {
        for (const one of file.flows) check(one, registry);
        const key = JSON.stringify([tenant, file.app.slug]);
        const known = files.get(key) ?? { ...file, tenant, flows: [] };
        known.flows.push(...file.flows);
        known.notes = [...new Set([...known.notes, ...file.notes])];
        files.set(key, known);
      }
    } catch (error) {
      rejected.push({ id: textOf(row.id), name: textOf(row.name), reason: messageOf(error) });
    }
  return { files: [...files.values()], rejected };
}

const NO_TENANT = "it has no tenant (column tenant_id)";

/** The app of flows that have none. */
const DEFAULT_APP = "flows";

/** The tenant, and the other columns under their names in flow files. */
function readRow(row: Row): { tenant: Json | undefined; flow: JsonObject } {
  let tenant: Json | undefined;
  const flow: JsonObject = {};
  // Databases also return types that are not JSON, such as dates.
  for (const [column, value] of Object.entries(JSON.parse(JSON.stringify(row)) as JsonObject))
    switch (normalizeColumnName(column)) {
      case "tenantid":
        tenant = value;
        break;
      case "createdat":
      case "updatedat":
        break;
      case "isactive":
        // Databases without booleans store numbers.
        flow.isActive = value === 1 ? true : value === 0 ? false : value;
        break;
      default:
        if (isGiven(value)) setOwn(flow, column, value);
    }
  return { tenant, flow: fieldsOf(flow) };
}

/** Adds the flow's app with its name and description, if the legacy system stored apps. */
function withApp(apps: ReadonlyMap<string, Row>, flow: JsonObject): JsonObject {
  const { app: named, appSlug = named, appId } = flow;
  const app = appSlug === undefined && appId !== undefined ? apps.get(String(appId)) : undefined;
  if (!app) return flow;
  const { slug, name, description } = readRow(app).flow;
  return { ...flow, app: { slug, name, description } as JsonObject };
}

/** Throws for a flow that the store would reject, before any flow is saved. */
function check(flow: JsonObject, registry: NodeRegistry): void {
  const { draft } = importDraft(flow, registry, new Set(), unusedIds("edge", flow));
  const { name, description, toolNames } = finishDraft(draft, draft.nodes, new Set(), registry);
  for (const text of [name, description, ...toolNames.map((tool) => tool.name)])
    if (text.includes("\0"))
      throw new Error(`${JSON.stringify(text)} contains the character NUL, which cannot be stored`);
  for (const tool of toolNames)
    if (tool.name.length > 500)
      throw new Error(`the tool name ${tool.name.slice(0, 50)}… is too long`);
}

const isGiven = (value: Json | undefined): value is Json =>
  value !== undefined && value !== null && value !== "";

const textOf = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : "";

const messageOf = (error: unknown): string =>
  error instanceof RequestError ? detailOf(error) : (error as Error).message;
