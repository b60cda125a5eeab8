/** Imports an app's flows from files, and publishes those that are valid. */
import { RequestError } from "../lib/request-error.ts";
import type { Store } from "../store/store.ts";
import { firstFindings } from "./first-findings.ts";
import type { Flows } from "./flows.ts";
import {
  type AppFlows,
  createImports,
  type ImportedFlow,
  type ImportOptions,
  type ImportPolicy,
} from "./import-flows.ts";
import { withTenantIds } from "./tenant-flow-ids.ts";

interface Publication {
  /** The version that this import published. */
  published?: number;
  not_published?: string;
}

interface Findings {
  /** What prevents publishing the imported draft. */
  errors: string[];
  warnings: string[];
}

export type ImportReport = ImportedFlow & Publication & Findings;

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
  ): Promise<Publication> {
    const flow = await store.getFlow(tenant, id);
    const published = flow?.version && (await store.getVersion(tenant, id, flow.version));
    const same = published && JSON.stringify(published) === JSON.stringify(flow.graph);
    if (same || (published && outcome === "skipped")) return {};
    try {
      const { version } = await flows.publish({ tenant, id }, { note: "Imported", by });
      return version === null ? {} : { published: version };
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      return { not_published: error.message };
    }
  }

  /** An existing flow that was skipped has no findings. */
  async function findingsOf(tenant: string, { id, outcome }: ImportedFlow): Promise<Findings> {
    if (outcome === "skipped") return { errors: [], warnings: [] };
    const { errors, warnings } = await flows.get(tenant, id);
    return {
      errors: firstFindings(errors).map(({ message }) => message),
      warnings: firstFindings(warnings).map(({ message }) => message),
    };
  }

  return {
    /** `publishBy` publishes the flows in this name. */
    async importApp(
      tenant: string,
      file: AppFlows,
      policy: ImportPolicy,
      publishBy?: string,
    ): Promise<ImportReport[]> {
      const given =
        tenancy === "single" ? file.flows : await withTenantIds(store, tenant, file.flows);
      const imported = await importApp(tenant, { ...file, flows: given }, policy);
      const publications: Publication[] = [];
      if (publishBy !== undefined)
        for (const one of imported) publications.push(await publish(tenant, one, publishBy));
      const reports: ImportReport[] = [];
      // After all flows are published, since flows can call each other.
      for (const [nth, one] of imported.entries())
        reports.push({ ...one, ...publications[nth], ...(await findingsOf(tenant, one)) });
      return reports;
    },
  };
}

export type AppImports = ReturnType<typeof createAppImports>;
