/** Imports an app's flows from files, and publishes those that are valid. */
import { RequestError } from "../lib/request-error.ts";
import type { Store } from "../store/store.ts";
import type { Flows } from "./flows.ts";
import {
  type AppFlows,
  createImports,
  type ImportedFlow,
  type ImportOptions,
  type ImportPolicy,
} from "./import-flows.ts";

export interface ImportReport extends ImportedFlow {
  /** The version that this import published. */
  published?: number;
  not_published?: string;
}

export interface AppImportOptions extends ImportOptions {
  store: Pick<Store, "saveFlows" | "getFlow" | "getVersion">;
  flows: Pick<Flows, "publish">;
}

export function createAppImports(options: AppImportOptions) {
  const { store, flows } = options;
  const { importApp } = createImports(options);

  /** Publishes a draft that differs from its published version, or a skipped flow that has none. */
  async function publish(
    tenant: string,
    imported: ImportedFlow,
    by: string,
  ): Promise<ImportReport> {
    const { id, outcome } = imported;
    const flow = await store.getFlow(tenant, id);
    const published = flow?.version && (await store.getVersion(tenant, id, flow.version));
    const same = published && JSON.stringify(published) === JSON.stringify(flow.graph);
    if (same || (published && outcome === "skipped")) return imported;
    try {
      const { version } = await flows.publish({ tenant, id }, { note: "Imported", by });
      return { ...imported, ...(version !== null && { published: version }) };
    } catch (error) {
      if (!(error instanceof RequestError)) throw error;
      return { ...imported, not_published: error.message };
    }
  }

  return {
    importApp,
    async importAndPublish(
      tenant: string,
      file: AppFlows,
      policy: ImportPolicy,
      by: string,
    ): Promise<ImportReport[]> {
      const reports: ImportReport[] = [];
      for (const imported of await importApp(tenant, file, policy))
        reports.push(await publish(tenant, imported, by));
      return reports;
    },
  };
}

export type AppImports = ReturnType<typeof createAppImports>;
