import { readFileSync } from "node:fs";
import { nodeTypes } from "@signalbox/rules/flows/nodes/index.ts";
import type { Json } from "@signalbox/rules/json.ts";
import { parseJson } from "../../api/read-json.ts";
import { createFlows } from "../../apps/flows.ts";
import { createImports, type HowToImport, type ImportedFlow } from "../../apps/import-flows.ts";
import { type AppFile, readFlowFile } from "../../legacy/read-flow-file.ts";
import { createIds } from "../../lib/ids.ts";
import { RequestError } from "../../lib/request-error.ts";
import type { Store } from "../../store/store.ts";
import { LOCAL_TENANT } from "../../tenants/tenancy.ts";
import { loadSettings } from "../node/load-settings.ts";
import type { Settings } from "../settings.ts";
import { type Command, print, refuseMore, text, UsageError } from "./command.ts";
import { dim, green, red, yellow } from "./style.ts";
import { withStore } from "./with-store.ts";

export const importFlows: Command = {
  name: "import-flows",
  usage: "FILE [--app SLUG] [--publish] [options]",
  summary: "bring in flows from a JSON file, also from systems where a flow was one tool",
  details:
    "FILE holds one flow, a list of flows, or { app, flows }; rows of an older flows table will do. A tool that was the\n" +
    "flow's own (toolName, toolDescription, parameters, isActive) becomes a trigger, and all that is odd is told.\n" +
    "A hub that is started on a database with such a table takes it over by itself.\n" +
    "The flows of an app come in together or not at all. One that is here already, by its id or else its name in the\n" +
    "app, is left as it is: run it again as often as you like; --replace overwrites it.",
  options: {
    app: {
      type: "string",
      value: "SLUG",
      help: "the app that they go into; made where it is missing",
    },
    tenant: { type: "string", value: "ID", help: "whose flows these are (single: local)" },
    publish: { type: "boolean", help: "let them run, where they can" },
    replace: { type: "boolean", help: "overwrite the drafts of flows that are here already" },
    json: { type: "boolean", help: "print JSON" },
  },
  settings: ["data", "databaseUrl", "tenancy"],
  async run({ positionals, flags }) {
    const [file, ...rest] = positionals;
    if (file === undefined) throw new UsageError("Which file? `signalbox import-flows FILE`.");
    refuseMore(rest);
    const settings = loadSettings(flags);
    const tenant = tenantOf(settings, text(flags.tenant));
    const apps = readApps(readJsonFile(file), file, text(flags.app));
    const how = { replace: flags.replace === true, strictIds: false };
    await withStore(settings, { create: false }, async (store) => {
      const work = { store, tenant, how, publish: flags.publish === true };
      await importAndTell(apps, work, flags.json === true);
    });
  },
};

export function tenantOf({ tenancy }: Settings, given: string | undefined): string {
  const tenant = given ?? (tenancy === "single" ? LOCAL_TENANT : undefined);
  if (!tenant) throw new UsageError("Say whose flows these are: --tenant ACCOUNT_ID.");
  return tenant;
}

export function readJsonFile(file: string): Json {
  let content: string;
  try {
    content = readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as Error).message}`);
  }
  return asUsage(file, () => parseJson(content, "it"));
}

export const readApps = (content: Json, file: string, app: string | undefined): AppFile[] =>
  asUsage(file, () => readFlowFile(content, app));

function asUsage<Result>(file: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    throw new UsageError(`${file}: ${error.field === "it" ? "it " : ""}${error.message}`);
  }
}

export interface ImportWork {
  store: Store;
  tenant: string;
  how: HowToImport;
  publish: boolean;
}

interface ToldFlow extends ImportedFlow {
  /** The version that runs, where it was published now. */
  published?: number;
  not_published?: string;
}

interface ToldApp {
  app: string;
  flows: ToldFlow[];
  /** What the file holds beside flows, and found no place. */
  notes: string[];
  error?: string;
}

/** One app after the other: what is told has been stored. */
export async function importAndTell(
  apps: readonly AppFile[],
  work: ImportWork,
  json: boolean,
): Promise<void> {
  const told: ToldApp[] = [];
  for (const file of apps) {
    const one = await importOne(file, work);
    told.push(one);
    if (!json) tell(one);
    if (one.error || one.flows.some((flow) => flow.not_published)) process.exitCode = 1;
  }
  if (json) print(JSON.stringify({ apps: told }));
}

async function importOne(file: AppFile, work: ImportWork): Promise<ToldApp> {
  const { store, tenant, how } = work;
  const newId = createIds();
  const { notes } = file;
  const app = file.app.slug;
  const imports = createImports({ store, registry: nodeTypes, newId, now: Date.now });
  try {
    const flows = await imports.importApp(tenant, file, how);
    if (!work.publish) return { app, flows, notes };
    const published: ToldFlow[] = [];
    for (const flow of flows) published.push(await publish(flow, work, newId));
    return { app, flows: published, notes };
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    return { app, flows: [], notes, error: error.message };
  }
}

/** Only what does not run yet as it is; what was here and was skipped, only where it never ran. */
async function publish(
  imported: ImportedFlow,
  { store, tenant }: ImportWork,
  newId: () => string,
): Promise<ToldFlow> {
  const { id, outcome } = imported;
  const flow = await store.getFlow(tenant, id);
  const running = flow?.version && (await store.getVersion(tenant, id, flow.version));
  const same = running && JSON.stringify(running) === JSON.stringify(flow.graph);
  if (same || (running && outcome === "skipped")) return imported;
  const flows = createFlows({ store, registry: nodeTypes, newId, now: Date.now });
  try {
    const { version } = await flows.publish({ tenant, id }, { note: "Imported", by: "signalbox" });
    return { ...imported, ...(version !== null && { published: version }) };
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    return { ...imported, not_published: error.message };
  }
}

function tell({ app, flows, notes, error }: ToldApp): void {
  for (const note of notes) print(`${yellow("!")} ${app}: ${note}`);
  if (error) print(`${red("✗")} ${app}: nothing was stored. ${error}`);
  for (const { id, name, outcome, notes, published, not_published } of flows) {
    const version = published === undefined ? "" : `, published as version ${published}`;
    print(`${green("✓")} ${app} / ${name}: ${WORDS[outcome]}${version}  ${dim(id)}`);
    for (const note of notes) print(`    ${note}`);
    if (not_published) print(`    ${yellow("not published:")} ${not_published}`);
  }
}

const WORDS: Record<ImportedFlow["outcome"], string> = {
  created: "created",
  replaced: "replaced",
  unchanged: "unchanged",
  skipped: "is here already, and left as it is",
};
