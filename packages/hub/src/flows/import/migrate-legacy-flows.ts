/**
 * Migrates the flows that a legacy system left in the hub's database, with the same rules as for
 * imported files. A row that is not a valid flow is reported; the others are migrated.
 */
import { callsIn, triggersIn } from "@signalbox/rules/flows/check-calls.ts";
import { type AppFile, readFlowFile } from "@signalbox/rules/flows/import/read-flow-file.ts";
import type { FlowNode } from "@signalbox/rules/flows/model.ts";
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import type { Json, JsonObject } from "@signalbox/rules/json.ts";
import type { RunJob } from "../../kernel/jobs/job.ts";
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { Row } from "../../kernel/store/sql.ts";
import type { Store } from "../../store.ts";
import { finishDraft } from "../editing/edit-draft.ts";
import {
  AnalysisMissing,
  createFlowAnalysis,
  type FlowAnalysisOptions,
  type RequireAnalysis,
} from "../editing/flow-analysis.ts";
import { ALIAS_MS, publicationOf } from "../editing/publication.ts";
import type { LegacyApp, StoredFlow } from "../model.ts";
import { importDraft } from "./import-draft.ts";
import { detailOf, type ImportedFlow, planImport, unusedIds } from "./import-flows.ts";
import { fileOfRows, readRow } from "./read-rows.ts";

export interface MigrationOptions {
  store: Pick<Store, "migrateLegacyFlows"> & FlowAnalysisOptions["store"];
  registry: NodeRegistry;
  runJob: RunJob;
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
  const withAnalysis = createFlowAnalysis(options);
  const migrated = await withAnalysis((requireAnalysis) =>
    options.store.migrateLegacyFlows((flowRows, appRows) => {
      rows = flowRows.length;
      const { files, nodes, ...invalid } = readRows(flowRows, appRows, options);
      rejected = invalid.rejected;
      // For all flows of a tenant together, because each missing analysis repeats the migration.
      for (const [tenant, tenantNodes] of nodes) requireAnalysis(tenant, { nodes: tenantNodes });
      conversions = files.map((file) => convertApp(file, options, requireAnalysis));
      const withoutTenant = rejected.filter(({ reason }) => reason === NO_TENANT).length;
      return rows > 0 && withoutTenant === rows ? undefined : conversions.map(({ app }) => app);
    }),
  );
  if (migrated.outcome !== "migrated")
    return migrated.outcome === "postponed" ? { outcome: "no_tenant", rows } : { outcome: "none" };
  const apps = conversions.map(({ report }, index) => report(migrated.apps[index] ?? []));
  return { outcome: "migrated", apps, rejected, table: migrated.table };
}

function convertApp(
  { tenant, app, flows, notes }: TenantFile,
  { registry, newId, now }: MigrationOptions,
  requireAnalysis: RequireAnalysis,
): Conversion {
  const at = now();
  const { plan, report } = planImport(
    flows,
    { replace: false, strictIds: false },
    { registry, newId },
  );
  const reasons = new Map<string, string>();
  const publish: LegacyApp["publish"] = (flow, saved) => {
    const version = { note: "Migrated", by: "signalbox", at, aliasUntil: at + ALIAS_MS };
    const calledIds = new Set(callsIn(flow.graph, registry).map((call) => call.flow));
    const calledFlows = new Map(
      saved
        .filter(({ tenant: owner, id }) => owner === tenant && calledIds.has(id))
        .map(({ id, name, graph }) => [
          id,
          { name, triggers: undefined, draftTriggers: triggersIn(graph, registry) },
        ]),
    );
    try {
      return publicationOf(flow, registry, version, requireAnalysis, calledFlows);
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

/** Groups the flows of valid rows by app, and their nodes by tenant. */
function readRows(
  rows: readonly Row[],
  apps: readonly Row[],
  { registry, tenant: defaultTenant }: MigrationOptions,
): { files: TenantFile[]; rejected: RejectedRow[]; nodes: Map<string, FlowNode[]> } {
  const files = new Map<string, TenantFile>();
  const nodes = new Map<string, FlowNode[]>();
  const rejected: RejectedRow[] = [];
  for (const row of rows)
    try {
      const { tenant: tenantId, flow } = readRow(row);
      const tenant = hasValue(tenantId) ? String(tenantId) : defaultTenant;
      if (tenant === undefined) throw new Error(NO_TENANT);
      for (const file of readFlowFile(fileOfRows([flow], appsFor(tenant, flow, apps)))) {
        if (file.error !== undefined) throw new Error(file.error);
        const flowNodes = file.flows.flatMap((fileFlow) => readNodes(fileFlow, registry));
        nodes.set(tenant, [...(nodes.get(tenant) ?? []), ...flowNodes]);
        const key = JSON.stringify([tenant, file.app.slug]);
        const appFile = files.get(key) ?? { ...file, tenant, flows: [] };
        appFile.flows.push(...file.flows);
        appFile.notes = [...new Set([...appFile.notes, ...file.notes])];
        files.set(key, appFile);
      }
    } catch (error) {
      rejected.push({ id: textOf(row.id), name: textOf(row.name), reason: messageOf(error) });
    }
  return { files: [...files.values()], rejected, nodes };
}

/**
 * The apps to which a flow of the tenant can refer: first those of the tenant, because slugs are unique
 * per tenant, then those without a tenant, then the app of another tenant with the flow's `appId`.
 */
function appsFor(tenant: string, { appId }: JsonObject, apps: readonly Row[]): Row[] {
  const owned = apps.map((row) => ({ row, owner: readRow(row).tenant }));
  const rowsWith = (isIncluded: (app: (typeof owned)[number]) => boolean) =>
    owned.filter(isIncluded).map(({ row }) => row);
  const isOwn = (owner: Json | undefined) => hasValue(owner) && String(owner) === tenant;
  return [
    ...rowsWith(({ owner }) => isOwn(owner)),
    ...rowsWith(({ owner }) => !hasValue(owner)),
    ...rowsWith(
      ({ row, owner }) => hasValue(owner) && !isOwn(owner) && String(row.id) === String(appId),
    ),
  ];
}

const NO_TENANT = "it has no tenant (column tenant_id)";

/** Returns the nodes of a flow. Throws for a flow that the store would reject, before any is saved. */
function readNodes(flow: JsonObject, registry: NodeRegistry): FlowNode[] {
  const { draft } = importDraft(flow, registry, new Set(), unusedIds("edge", flow));
  const { name, description, toolNames } = finishDraft(draft, draft.nodes, new Set(), registry);
  for (const text of [name, description, ...toolNames.map((tool) => tool.name)])
    if (text.includes("\0"))
      throw new Error(`${JSON.stringify(text)} contains the character NUL, which cannot be stored`);
  for (const tool of toolNames)
    if (tool.name.length > 500)
      throw new Error(`the tool name ${tool.name.slice(0, 50)}… is too long`);
  return draft.nodes;
}

const hasValue = (value: Json | undefined): value is Json =>
  value !== undefined && value !== null && value !== "";

const textOf = (value: unknown): string =>
  typeof value === "string" || typeof value === "number" ? String(value) : "";

const messageOf = (error: unknown): string =>
  error instanceof RequestError ? detailOf(error) : (error as Error).message;
