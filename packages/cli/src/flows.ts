import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import type { App, Flow } from "@signalbox/contract";
import type { AppFile } from "@signalbox/rules/flows/import/read-flow-file.ts";
import { snakeCase, uniqueName } from "@signalbox/rules/flows/tool-name.ts";
import { isObject, type JsonObject } from "@signalbox/rules/json.ts";
import {
  actionOf,
  asString,
  assertNoMoreArguments,
  type Command,
  print,
  UsageError,
} from "./command.ts";
import { type HubClient, HubRequestFailed } from "./hub-client.ts";
import { importAndReport, readApps, readJsonFile } from "./import-flows.ts";
import { dim, green } from "./style.ts";
import { type OpenSession, ownerTenant, withHub } from "./with-hub.ts";

const APP_FILE = "app.json";

export const createFlows = (openSession: OpenSession): Command => ({
  name: "flows",
  usage: "pull DIR | push DIR [options]",
  summary: "keep flows as files, for git: pull writes the files, push stores them in the hub",
  details:
    "DIR contains a folder for each app, with app.json and one file for each flow's draft. `pull` writes the files that\n" +
    "differ, and deletes no file. `push` creates and updates flows by the id in the file, or by name if the file has no id.\n" +
    "It stores all flows of an app or none of them, and leaves flows without a file unchanged.",
  options: {
    app: { type: "string", value: "SLUG", help: "only this app" },
    tenant: {
      type: "string",
      value: "ID",
      help: "the tenant that owns the flows (with one tenant: local)",
    },
    publish: { type: "boolean", help: "with push: publish the flows that changed" },
    json: { type: "boolean", help: "print JSON" },
  },
  settings: ["url", "token", "data"],
  async run({ positionals, flags }) {
    const [name, dir, ...rest] = positionals;
    const action = actionOf({ pull, push }, name, "pull DIR, or push DIR");
    if (dir === undefined)
      throw new UsageError(
        `Missing argument DIR, the folder of the files: \`npx @signalbox/cli flows ${name} flows\`.`,
      );
    assertNoMoreArguments(rest);
    const stats = statSync(dir, { throwIfNoEntry: false });
    if (action === push && !stats) throw new UsageError(`The folder ${dir} does not exist.`);
    if (stats && !stats.isDirectory())
      throw new UsageError(
        `${dir} is not a folder.${action === push ? " For one file, use `npx @signalbox/cli import-flows FILE --app SLUG`." : ""}`,
      );
    const options = { create: action === push, chooseTenant: ownerTenant(flags, "flows") };
    await withHub(openSession(flags), options, (hub) =>
      action({
        hub,
        dir,
        app: asString(flags.app),
        publish: flags.publish === true,
        json: flags.json === true,
      }),
    );
  },
});

interface Options {
  hub: HubClient;
  dir: string;
  /** The slug of the only app to pull or push; undefined for all apps. */
  app: string | undefined;
  publish: boolean;
  json: boolean;
}

async function pull({ hub, dir, app: onlyApp, json }: Options): Promise<void> {
  const files = readFiles(dir);
  const pathsByFlowId = new Map(
    files.flatMap(({ path, content }) =>
      typeof content.id === "string" && basename(path) !== APP_FILE ? [[content.id, path]] : [],
    ),
  );
  const usedPaths = new Set(files.map(({ path }) => path));
  const results: { id?: string; file: string; outcome: "written" | "unchanged" }[] = [];
  const write = (file: string, content: object, id?: string) => {
    const newText = `${JSON.stringify(content, null, 2)}\n`;
    const isUnchanged = existsSync(file) && readFileSync(file, "utf8") === newText;
    if (!isUnchanged) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, newText);
    }
    usedPaths.add(file);
    results.push({ ...(id && { id }), file, outcome: isUnchanged ? "unchanged" : "written" });
  };

  for (const { slug, name, description } of await fetchApps(hub, onlyApp)) {
    write(join(dir, slug, APP_FILE), { slug, name, description });
    for (const flow of await fetchFlows(hub, slug)) {
      // A file keeps its name when the flow is renamed, so that git shows one history.
      const fileOf = (name: string) => join(dir, slug, `${name}.json`);
      const newName = () =>
        uniqueName(snakeCase(flow.name, "flow"), (name) => usedPaths.has(fileOf(name)));
      write(pathsByFlowId.get(flow.id) ?? fileOf(newName()), contentOf(flow), flow.id);
    }
  }
  if (json) return print(JSON.stringify({ files: results }));
  for (const { file, outcome } of results) print(`${green("✓")} ${file}  ${dim(outcome)}`);
  if (results.length === 0) print("No flows found.");
}

async function push({ hub, dir, app: onlyApp, publish, json }: Options): Promise<void> {
  const files = readFiles(dir);
  const appsByFolder = new Map(
    files.flatMap(({ path, folder, content }) =>
      basename(path) === APP_FILE ? [[folder, { slug: folder, ...content }]] : [],
    ),
  );
  const parsedFiles = files.flatMap(({ path, folder, content }): AppFile[] => {
    if (basename(path) === APP_FILE) return [];
    const app = appsByFolder.get(folder) ?? folder;
    return readApps(content.app === undefined ? { ...content, app } : content, path);
  });
  const filesBySlug = Map.groupBy(parsedFiles, ({ app }) => app.slug);
  const apps = [...filesBySlug].flatMap(([slug, filesOfApp]): AppFile[] => {
    // Validates the app. `readApps` returns only apps that have a flow, so it gets an empty flow, which is
    // discarded.
    const [parsed] = readApps([{ app: appsByFolder.get(slug) ?? slug, flows: [{}] }], APP_FILE);
    if (!parsed || (onlyApp !== undefined && slug !== onlyApp)) return [];
    const notes = new Set(filesOfApp.flatMap((file) => file.notes));
    const flows = filesOfApp.flatMap((file) => file.flows);
    return [{ app: parsed.app, flows, notes: [...notes] }];
  });
  const policy = { replace: true, strictIds: true };
  await importAndReport(apps, { hub, policy, publish }, json);
  if (apps.length === 0 && !json) print(`No flows found in ${dir}.`);
}

const contentOf = ({ id, app, name, description, nodes, edges }: Flow) => ({
  id,
  app,
  name,
  description,
  nodes,
  edges,
});

/** Reads the JSON files in the subfolders of `dir`. */
function readFiles(dir: string): { path: string; folder: string; content: JsonObject }[] {
  if (!existsSync(dir)) return [];
  const folders = readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders.flatMap(({ name: folder }) =>
    readdirSync(join(dir, folder))
      .filter((name) => name.endsWith(".json"))
      .toSorted()
      .map((name) => {
        const path = join(dir, folder, name);
        const content = readJsonFile(path);
        if (!isObject(content)) throw new UsageError(`${path}: must contain a JSON object.`);
        return { path, folder, content };
      }),
  );
}

async function fetchApps(hub: HubClient, onlyApp: string | undefined): Promise<App[]> {
  if (onlyApp === undefined) return hub.all("/api/apps");
  try {
    return [await hub.get("/api/apps/:app", { params: { app: onlyApp } })];
  } catch (error) {
    if (!(error instanceof HubRequestFailed) || error.status !== 404) throw error;
    throw new UsageError(`The app ${onlyApp} does not exist.`);
  }
}

async function fetchFlows(hub: HubClient, app: string): Promise<Flow[]> {
  const flows: Flow[] = [];
  for (const { id } of await hub.all("/api/apps/:app/flows", { params: { app } }))
    flows.push(await hub.get("/api/flows/:flow", { params: { flow: id } }));
  return flows;
}
