/** Imports an app's flows from files, and publishes those that are valid. */
import { RequestError } from "../../kernel/lib/request-error.ts";
import type { Store } from "../../store.ts";
import type { Flows } from "../editing/flows.ts";
import { firstFindings } from "../views.ts";
import {
  type AppFlows,
  createImports,
  type ImportedFlow,
  type ImportOptions,
  type ImportPolicy,
} from "./import-flows.ts";
import { withTenantIds } from "./tenant-flow-ids.ts";

interface PublishResult {
  /** The version that this import published. */
  published?: number;
  not_published?: string;
}

interface Findings {
  /** The errors that prevent publishing the imported draft. */
  errors: string[];
  warnings: string[];
}

export type ImportReport = ImportedFlow & PublishResult & Findings;

export interface AppImportOptions extends ImportOptions {
  store: Pick<Store, "saveFlows" | "getFlow" | "getVersion" | "listVersions">;
  tenancy: "single" | "github";
  flows: Pick<Flows, "publish" | "get">;
}

export function createAppImports(options: AppImportOptions) {
  const { store, flows, tenancy } = options;
  const { importApp } = createImports(options);

  /** Publishes a draft that differs from its published version, or a skipped flow that has none. */
  async function publish(
    tenant: string,
    { id, outcome }: ImportedFlow,
    by: string,
  ): Promise<PublishResult> {
    const flow = await store.getFlow(tenant, id);
    const published = flow?.version && (await store.getVersion(tenant, id, flow.version));
    const isUnchanged = published && JSON.stringify(published) === JSON.stringify(flow.graph);
    if (isUnchanged || (published && outcome === "skipped")) return {};
    try {
      const { version } = await flows.publish({ tenant, id }, { note: "Imported", by });
      return version === null ? {} : { published: version };
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      return { not_published: error.message };
    }
  }

  /** The findings of a skipped flow are not returned, because the import did not change it. */
  async function findingsOf(tenant: string, { id, outcome }: ImportedFlow): Promise<Findings> {
    if (outcome === "skipped") return { errors: [], warnings: [] };
    const { errors, warnings } = await flows.get(tenant, id);
    return {
      errors: firstFindings(errors).map(({ message }) => message),
      warnings: firstFindings(warnings).map(({ message }) => message),
    };
  }

  return {
    /** If `publishBy` is set, publishes the flows in this name. */
    async importApp(
      tenant: string,
      file: AppFlows,
      policy: ImportPolicy,
      publishBy?: string,
    ): Promise<ImportReport[]> {
      const fileFlows =
        tenancy === "single" ? file.flows : await withTenantIds(store, tenant, file.flows);
      const imported = await importApp(tenant, { ...file, flows: fileFlows }, policy);
      const publishResults: PublishResult[] = [];
      if (publishBy !== undefined)
        for (const flow of imported) publishResults.push(await publish(tenant, flow, publishBy));
      const reports: ImportReport[] = [];
      // The findings are read after all flows are published, because flows can call each other.
      for (const [index, flow] of imported.entries())
        reports.push({ ...flow, ...publishResults[index], ...(await findingsOf(tenant, flow)) });
      return reports;
    },
  };
}

export type AppImports = ReturnType<typeof createAppImports>;
