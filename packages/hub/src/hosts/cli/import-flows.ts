import { readFileSync } from "node:fs";
import type { Json } from "@signalbox/rules/json.ts";
import type { ImportReport } from "../../apps/import-app.ts";
import type { ImportedFlow, ImportPolicy } from "../../apps/import-flows.ts";
import { type AppFile, readFlowFile } from "../../legacy/read-flow-file.ts";
import { parseJson } from "../../lib/parse-json.ts";
import { RequestError } from "../../lib/request-error.ts";
import { truncate } from "../../lib/truncate.ts";
import { loadSettings } from "../node/load-settings.ts";
import { assertNoMoreArguments, type Command, print, text, UsageError } from "./command.ts";
import { type HubClient, HubRequestFailed } from "./hub-client.ts";
import { isSqliteFile, readLegacyDatabase } from "./read-legacy-database.ts";
import { dim, green, red, yellow } from "./style.ts";
import { ownerTenant } from "./tenant-flag.ts";
import { withHub } from "./with-hub.ts";

export const importFlows: Command = {
  name: "import-flows",
  usage: "FILE [--app SLUG] [--publish] [options]",
  summary: "import flows from a JSON file, also from legacy systems where a flow was one tool",
  details:
    "FILE contains one flow, a list of flows, { app, flows } or { apps, flows }. It may contain rows of a legacy flows\n" +
    "table, or be the SQLite database itself: the tool of a flow (toolName, toolDescription, parameters, isActive) becomes\n" +
    "a trigger, nodes become nodes of our types, and problems are reported.\n" +
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
  settings: ["url", "token", "data", "databaseUrl", "tenancy"],
  async run({ positionals, flags }) {
    const [file, ...rest] = positionals;
    if (file === undefined)
      throw new UsageError("Missing argument FILE: `npx signalbox import-flows FILE`.");
    assertNoMoreArguments(rest);
    const settings = loadSettings(flags);
    const content = isSqliteFile(file) ? await readLegacyDatabase(file) : readJsonFile(file);
    const apps = readApps(content, file, text(flags.app));
    const policy = { replace: flags.replace === true, strictIds: false };
    await withHub(
      settings,
      { create: false, tenantIn: ownerTenant(flags, "flows") },
      async (hub) => {
        const work = { hub, policy, publish: flags.publish === true };
        await importAndReport(apps, work, flags.json === true);
      },
    );
  },
};

export function readJsonFile(file: string): Json {
  let content: string;
  try {
    content = readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as Error).message}`);
  }
  return asUsage(file, () => parseJson(content, "file", Number.POSITIVE_INFINITY));
}

/** Throws if no app is valid. */
export function readApps(content: Json, file: string, app?: string): AppFile[] {
  const apps = asUsage(file, () => readFlowFile(content, app));
  const errors = apps.flatMap(({ error = [] }) => error);
  if (errors.length > 0 && errors.length === apps.length)
    throw new UsageError(`${file}: ${errors.join("; ")}`);
  return apps;
}

function asUsage<Result>(file: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    throw new UsageError(`${file}: ${error.message}`);
  }
}

export interface ImportWork {
  hub: HubClient;
  policy: ImportPolicy;
  publish: boolean;
}

interface AppReport {
  app: string;
  flows: ImportReport[];
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
  const { hub, policy, publish } = work;
  const { slug, ...app } = file.app;
  const { notes, error } = file;
  if (error !== undefined) return { app: slug, flows: [], notes, error };
  try {
    const { flows } = await hub.request<{ flows: ImportReport[] }>(
      "POST",
      `/api/apps/${encodeURIComponent(slug)}/import`,
      {
        body: {
          ...app,
          flows: file.flows,
          replace: policy.replace,
          strict_ids: policy.strictIds,
          publish,
        },
      },
    );
    return { app: slug, flows, notes };
  } catch (error) {
    if (!isRejected(error)) throw error;
    return { app: slug, flows: [], notes, error: error.message };
  }
}

/** The hub rejected the content of the request, and not the request itself. */
const isRejected = (error: unknown): error is HubRequestFailed =>
  error instanceof HubRequestFailed && [400, 409, 413].includes(error.status ?? 0);

function printReport({ app, flows, notes, error }: AppReport): void {
  for (const note of notes) print(`${yellow("!")} ${app}: ${note}`);
  if (error) print(`${red("✗")} ${app}: nothing was stored. ${error}`);
  for (const flow of flows) {
    const { id, name, outcome, notes, published, not_published } = flow;
    // A hub of an earlier version does not return them.
    const { errors = [], warnings = [] } = flow;
    const version = published === undefined ? "" : `, published as version ${published}`;
    const mark = not_published ? red("✗") : green("✓");
    print(`${mark} ${app} / ${truncate(name, 100)}: ${MESSAGES[outcome]}${version}  ${dim(id)}`);
    for (const note of notes) print(`    ${note}`);
    if (not_published) print(`    ${red("not published:")} ${not_published}`);
    else for (const error of errors) print(`    ${yellow("cannot be published yet:")} ${error}`);
    for (const warning of warnings) print(`    ${yellow("warning:")} ${warning}`);
  }
}

const MESSAGES: Record<ImportedFlow["outcome"], string> = {
  created: "created",
  replaced: "replaced",
  unchanged: "unchanged",
  skipped: "exists already, left unchanged",
};
