import { readFileSync } from "node:fs";
import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import type { Json } from "@signalbox/rules/json.ts";
import { parseJson } from "../../api/read-json.ts";
import { createFlows } from "../../apps/flows.ts";
import { createImports, type ImportedFlow, type ImportPolicy } from "../../apps/import-flows.ts";
import { type AppFile, readFlowFile } from "../../legacy/read-flow-file.ts";
import { createIds } from "../../lib/ids.ts";
import { RequestError } from "../../lib/request-error.ts";
import type { Store } from "../../store/store.ts";
import { LOCAL_TENANT } from "../../tenants/tenancy.ts";
import { loadSettings } from "../node/load-settings.ts";
import { createSandbox } from "../node/sandbox.ts";
import type { Settings } from "../settings.ts";
import { assertNoMoreArguments, type Command, print, text, UsageError } from "./command.ts";
import { dim, green, red, yellow } from "./style.ts";
import { withStore } from "./with-store.ts";

export const importFlows: Command = {
  name: "import-flows",
  usage: "FILE [--app SLUG] [--publish] [options]",
  summary: "import flows from a JSON file, also from legacy systems where a flow was one tool",
  details:
    "FILE contains one flow, a list of flows, or { app, flows }. It may contain rows of a legacy flows table: their tool\n" +
    "(toolName, toolDescription, parameters, isActive) becomes a trigger, and problems are reported.\n" +
    "A hub that starts on a database with such a table migrates it automatically.\n" +
    "All flows of an app are imported, or none of them. A flow that exists already (with the same id, or the same name in\n" +
    "the app) is left unchanged, so you can repeat the command; --replace overwrites it.",
  options: {
    app: {
      type: "string",
      value: "SLUG",
      help: "the app of the flows; created if it does not exist",
    },
    tenant: { type: "string", value: "ID", help: "the tenant that owns the flows (single: local)" },
    publish: { type: "boolean", help: "publish the flows that are valid" },
    replace: { type: "boolean", help: "overwrite the drafts of flows that exist already" },
    json: { type: "boolean", help: "print JSON" },
  },
  settings: ["data", "databaseUrl", "tenancy"],
  async run({ positionals, flags }) {
    const [file, ...rest] = positionals;
    if (file === undefined)
      throw new UsageError("Missing argument FILE: `signalbox import-flows FILE`.");
    assertNoMoreArguments(rest);
    const settings = loadSettings(flags);
    const tenant = tenantOf(settings, text(flags.tenant));
    const apps = readApps(readJsonFile(file), file, text(flags.app));
    const policy = { replace: flags.replace === true, strictIds: false };
    await withStore(settings, { create: false }, async (store) => {
      const work = { store, tenant, policy, publish: flags.publish === true };
      await importAndReport(apps, work, flags.json === true);
    });
  },
};

export function tenantOf({ tenancy }: Settings, given: string | undefined): string {
  const tenant = given ?? (tenancy === "single" ? LOCAL_TENANT : undefined);
  if (!tenant)
    throw new UsageError("Missing option: name the owner of the flows with --tenant ACCOUNT_ID.");
  return tenant;
}

export function readJsonFile(file: string): Json {
  let content: string;
  try {
    content = readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as Error).message}`);
  }
  return asUsage(file, () => parseJson(content, "file"));
}

export const readApps = (content: Json, file: string, app?: string): AppFile[] =>
  asUsage(file, () => readFlowFile(content, app));

function asUsage<Result>(file: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    throw new UsageError(`${file}: ${error.message}`);
  }
}

export interface ImportWork {
  store: Store;
  tenant: string;
  policy: ImportPolicy;
  publish: boolean;
}

interface FlowReport extends ImportedFlow {
  /** The version that this import published. */
  published?: number;
  not_published?: string;
}

interface AppReport {
  app: string;
  flows: FlowReport[];
  /** Parts of the file that were not imported. */
  notes: string[];
  error?: string;
}

/** Imports one app after the other, and reports each one after it was stored. */
export async function importAndReport(
  apps: readonly AppFile[],
  work: ImportWork,
  json: boolean,
): Promise<void> {
  const reports: AppReport[] = [];
  for (const file of apps) {
    const report = await importOne(file, work);
    reports.push(report);
    if (!json) printReport(report);
    if (report.error || report.flows.some((flow) => flow.not_published)) process.exitCode = 1;
  }
  if (json) print(JSON.stringify({ apps: reports }));
}

async function importOne(file: AppFile, work: ImportWork): Promise<AppReport> {
  const { store, tenant, policy } = work;
  const newId = createIds();
  const { notes } = file;
  const app = file.app.slug;
  const imports = createImports({ store, registry: nodeTypes, newId, now: Date.now });
  try {
    const flows = await imports.importApp(tenant, file, policy);
    if (!work.publish) return { app, flows, notes };
    const published: FlowReport[] = [];
    for (const flow of flows) published.push(await publish(flow, work, newId));
    return { app, flows: published, notes };
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    return { app, flows: [], notes, error: error.message };
  }
}

/** Publishes a draft that differs from its published version, or a skipped flow that has none. */
async function publish(
  imported: ImportedFlow,
  { store, tenant }: ImportWork,
  newId: () => string,
): Promise<FlowReport> {
  const { id, outcome } = imported;
  const flow = await store.getFlow(tenant, id);
  const published = flow?.version && (await store.getVersion(tenant, id, flow.version));
  const same = published && JSON.stringify(published) === JSON.stringify(flow.graph);
  if (same || (published && outcome === "skipped")) return imported;
  const sandbox = createSandbox();
  const flows = createFlows({
    store,
    registry: nodeTypes,
    evaluate: sandbox.evaluate,
    newId,
    now: Date.now,
  });
  try {
    const { version } = await flows.publish({ tenant, id }, { note: "Imported", by: "signalbox" });
    return { ...imported, ...(version !== null && { published: version }) };
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    return { ...imported, not_published: error.message };
  } finally {
    await sandbox.close();
  }
}

function printReport({ app, flows, notes, error }: AppReport): void {
  for (const note of notes) print(`${yellow("!")} ${app}: ${note}`);
  if (error) print(`${red("✗")} ${app}: nothing was stored. ${error}`);
  for (const { id, name, outcome, notes, published, not_published } of flows) {
    const version = published === undefined ? "" : `, published as version ${published}`;
    print(`${green("✓")} ${app} / ${name}: ${MESSAGES[outcome]}${version}  ${dim(id)}`);
    for (const note of notes) print(`    ${note}`);
    if (not_published) print(`    ${yellow("not published:")} ${not_published}`);
  }
}

const MESSAGES: Record<ImportedFlow["outcome"], string> = {
  created: "created",
  replaced: "replaced",
  unchanged: "unchanged",
  skipped: "exists already, left unchanged",
};
