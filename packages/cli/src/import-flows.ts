import { readFileSync } from "node:fs";
import type { FlowReport } from "@signalbox/contract";
import { type AppFile, readFlowFile } from "@signalbox/rules/flows/import/read-flow-file.ts";
import type { Json } from "@signalbox/rules/json.ts";
import { parseJson } from "@signalbox/rules/parse-json.ts";
import { RequestError } from "@signalbox/rules/request-error.ts";
import { truncate } from "@signalbox/rules/truncate.ts";
import { asString, assertNoMoreArguments, type Command, print, UsageError } from "./command.ts";
import { type HubClient, HubRequestFailed } from "./hub-client.ts";
import { dim, green, red, yellow } from "./style.ts";
import { type OpenSession, ownerTenant, withHub } from "./with-hub.ts";

/** Reads the flows in an SQLite database as the content of a flow file; undefined if the file is no database. */
export type ReadDatabase = (file: string) => Promise<Json | undefined>;

export const createImportFlows = (
  openSession: OpenSession,
  readDatabase?: ReadDatabase,
): Command => ({
  name: "import-flows",
  usage: "FILE [--app SLUG] [--publish] [options]",
  summary: "import flows from a JSON file, or from a legacy system where each flow was one tool",
  details:
    "FILE contains one flow, a list of flows, { app, flows } or { apps, flows }. It can also contain rows of a legacy\n" +
    `flows table${readDatabase ? ", or be the legacy SQLite database" : ""}. ` +
    "The tool of a legacy flow (toolName, toolDescription, parameters,\n" +
    "isActive) becomes a trigger, its nodes are converted to the hub's node types, and problems are reported.\n" +
    "Parameters that cannot be converted stay unchanged, and their flow stays a draft.\n" +
    "A hub that starts on a database with such a table migrates it automatically.\n" +
    "All flows of an app are imported, or none of them. A flow that exists already (with the same id, or the same name in\n" +
    "the app) is left unchanged, so you can repeat the command; --replace overwrites it.",
  options: {
    app: {
      type: "string",
      value: "SLUG",
      help: "the app of the flows, which is created if it does not exist (the app in FILE)",
    },
    tenant: {
      type: "string",
      value: "ID",
      help: "the tenant that owns the flows (with one tenant: local)",
    },
    publish: { type: "boolean", help: "publish the flows that are valid" },
    replace: { type: "boolean", help: "overwrite the drafts of flows that exist already" },
    json: { type: "boolean", help: "print JSON" },
  },
  settings: ["url", "token", "data"],
  async run({ positionals, flags }) {
    const [file, ...rest] = positionals;
    if (file === undefined)
      throw new UsageError("Missing argument FILE: `npx @signalbox/cli import-flows FILE`.");
    assertNoMoreArguments(rest);
    const session = openSession(flags);
    const content = (await readDatabase?.(file)) ?? readJsonFile(file);
    const apps = readApps(content, file, asString(flags.app));
    const policy = { replace: flags.replace === true, strictIds: false };
    await withHub(
      session,
      { create: false, chooseTenant: ownerTenant(flags, "flows") },
      async (hub) => {
        const options = { hub, policy, publish: flags.publish === true };
        await importAndReport(apps, options, flags.json === true);
      },
    );
  },
});

export function readJsonFile(file: string): Json {
  let content: string;
  try {
    content = readFileSync(file, "utf8");
  } catch (error) {
    throw new UsageError(`${file} cannot be read: ${(error as Error).message}`);
  }
  return withUsageErrors(file, () => parseJson(content, "file"));
}

/** Throws if no app in the file is valid. `app` overrides the app of every flow. */
export function readApps(content: Json, file: string, app?: string): AppFile[] {
  const apps = withUsageErrors(file, () => readFlowFile(content, app));
  const errors = apps.flatMap(({ error }) => (error === undefined ? [] : [error]));
  if (errors.length > 0 && errors.length === apps.length)
    throw new UsageError(`${file}: ${errors.join("; ")}`);
  return apps;
}

/** An invalid file is a usage error. */
function withUsageErrors<Result>(file: string, work: () => Result): Result {
  try {
    return work();
  } catch (error) {
    if (!(error instanceof RequestError)) throw error;
    throw new UsageError(`${file}: ${error.message}`);
  }
}

interface ImportPolicy {
  /** Overwrites the drafts of existing flows. */
  replace: boolean;
  /** Rejects an id that a flow of another app has. */
  strictIds: boolean;
}

interface ImportOptions {
  hub: HubClient;
  policy: ImportPolicy;
  publish: boolean;
}

interface AppReport {
  app: string;
  flows: FlowReport[];
  /** Parts of the file that were not imported. */
  notes: string[];
  error?: string;
}

/** Imports the apps one after the other, and prints a report after each; with `json`, after the last. */
export async function importAndReport(
  apps: readonly AppFile[],
  options: ImportOptions,
  json: boolean,
): Promise<void> {
  const reports: AppReport[] = [];
  for (const appFile of apps) {
    const report = await importApp(appFile, options);
    reports.push(report);
    if (!json) printReport(report);
    if (report.error || report.flows.some((flow) => flow.not_published)) process.exitCode = 1;
  }
  if (json) print(JSON.stringify({ apps: reports }));
}

async function importApp(
  appFile: AppFile,
  { hub, policy, publish }: ImportOptions,
): Promise<AppReport> {
  const { slug, ...app } = appFile.app;
  const { notes, error } = appFile;
  if (error !== undefined) return { app: slug, flows: [], notes, error };
  try {
    const { flows } = await hub.post("/api/apps/:app/import", {
      params: { app: slug },
      body: {
        ...app,
        flows: appFile.flows,
        replace: policy.replace,
        strict_ids: policy.strictIds,
        publish,
      },
    });
    return { app: slug, flows, notes };
  } catch (error) {
    if (!isContentRejected(error)) throw error;
    return { app: slug, flows: [], notes, error: error.message };
  }
}

/** True if the hub rejected the content of the file, and not, for example, the token. */
const isContentRejected = (error: unknown): error is HubRequestFailed =>
  error instanceof HubRequestFailed && [400, 409, 413].includes(error.status ?? 0);

function printReport({ app, flows, notes, error }: AppReport): void {
  for (const note of notes) print(`${yellow("!")} ${app}: ${note}`);
  if (error) print(`${red("✗")} ${app}: nothing was stored. ${error}`);
  for (const flow of flows) {
    const { id, name, outcome, notes, published, not_published } = flow;
    // An earlier version of the hub does not return these fields.
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

const MESSAGES: Record<FlowReport["outcome"], string> = {
  created: "created",
  replaced: "replaced",
  unchanged: "unchanged",
  skipped: "exists already, left unchanged",
};
