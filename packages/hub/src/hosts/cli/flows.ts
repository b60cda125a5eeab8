import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { snakeCase, uniqueName } from "@signalbox/rules/flows/tool-name.ts";
import { isObject, type JsonObject } from "@signalbox/rules/json.ts";
import type { AppFile } from "../../legacy/read-flow-file.ts";
import { loadSettings } from "../node/load-settings.ts";
import { allPages } from "./all-pages.ts";
import {
  actionOf,
  assertNoMoreArguments,
  type Command,
  print,
  text,
  UsageError,
} from "./command.ts";
import { type HubClient, HubRequestFailed } from "./hub-client.ts";
import { importAndReport, readApps, readJsonFile } from "./import-flows.ts";
import { dim, green } from "./style.ts";
import { ownerTenant } from "./tenant-flag.ts";
import { withHub } from "./with-hub.ts";

const APP_FILE = "app.json";

export const flows: Command = {
  name: "flows",
  usage: "pull DIR | push DIR [options]",
  summary: "keep flows as files, for git: pull writes the files, push stores them in the hub",
  details:
    "DIR contains a folder for each app, with app.json and one file for each flow's draft. `pull` writes the files that\n" +
    "differ, and deletes none. `push` creates and updates flows by the id in the file, or by name if the file has no id.\n" +
    "It stores all flows of an app or none of them, and leaves flows without a file unchanged.",
  options: {
    app: { type: "string", value: "SLUG", help: "only this app" },
    tenant: { type: "string", value: "ID", help: "the tenant that owns the flows (single: local)" },
    publish: { type: "boolean", help: "with push: publish the flows that changed" },
    json: { type: "boolean", help: "print JSON" },
  },
  settings: ["url", "token", "data", "databaseUrl", "tenancy"],
  async run({ positionals, flags }) {
    const [name, dir, ...rest] = positionals;
    const action = actionOf({ pull, push }, name, "pull DIR, or push DIR");
    if (dir === undefined)
      throw new UsageError(
        `Missing argument DIR, the folder of the files: \`npx signalbox flows ${name} flows\`.`,
      );
    assertNoMoreArguments(rest);
    const found = statSync(dir, { throwIfNoEntry: false });
    if (action === push && !found) throw new UsageError(`The folder ${dir} does not exist.`);
    if (found && !found.isDirectory())
      throw new UsageError(
        `${dir} is not a folder.${action === push ? " For one file, use `npx signalbox import-flows FILE --app SLUG`." : ""}`,
      );
    const options = { create: action === push, tenantIn: ownerTenant(flags, "flows") };
    await withHub(loadSettings(flags), options, (hub) =>
      action({
        hub,
        dir,
        app: text(flags.app),
        publish: flags.publish === true,
        json: flags.json === true,
      }),
    );
  },
};

interface Options {
  hub: HubClient;
  dir: string;
  app: string | undefined;
  publish: boolean;
  json: boolean;
}

async function pull({ hub, dir, app: only, json }: Options): Promise<void> {
  const files = filesIn(dir);
  const pathOf = new Map(
    files.flatMap(({ path, content }) =>
      typeof content.id === "string" && basename(path) !== APP_FILE ? [[content.id, path]] : [],
    ),
  );
  const taken = new Set(files.map(({ path }) => path));
  const results: { id?: string; file: string; outcome: "written" | "unchanged" }[] = [];
  const write = (file: string, content: object, id?: string) => {
    const newText = `${JSON.stringify(content, null, 2)}\n`;
    const same = existsSync(file) && readFileSync(file, "utf8") === newText;
    if (!same) {
      mkdirSync(dirname(file), { recursive: true });
      writeFileSync(file, newText);
    }
    taken.add(file);
    results.push({ ...(id && { id }), file, outcome: same ? "unchanged" : "written" });
  };

  for (const { slug, name, description } of await appsOf(hub, only)) {
    write(join(dir, slug, APP_FILE), { slug, name, description });
    for (const flow of await flowsOf(hub, slug)) {
      // A file keeps its name when the flow is renamed, so that git shows one history.
      const fileOf = (name: string) => join(dir, slug, `${name}.json`);
      const newName = () =>
        uniqueName(snakeCase(flow.name, "flow"), (name) => taken.has(fileOf(name)));
      write(pathOf.get(flow.id) ?? fileOf(newName()), contentOf(flow), flow.id);
    }
  }
  if (json) return print(JSON.stringify({ files: results }));
  for (const { file, outcome } of results) print(`${green("✓")} ${file}  ${dim(outcome)}`);
  if (results.length === 0) print("No flows found.");
}

async function push({ hub, dir, app: only, publish, json }: Options): Promise<void> {
  const files = filesIn(dir);
  const appFiles = new Map(
    files.flatMap(({ path, folder, content }) =>
      basename(path) === APP_FILE ? [[folder, { slug: folder, ...content }]] : [],
    ),
  );
  const read = files.flatMap(({ path, folder, content }): AppFile[] => {
    if (basename(path) === APP_FILE) return [];
    const app = appFiles.get(folder) ?? folder;
    return readApps(content.app === undefined ? { ...content, app } : content, path);
  });
  const apps = [...Map.groupBy(read, ({ app }) => app.slug)].flatMap(([slug, parts]): AppFile[] => {
    // Validates the app; the empty flow is discarded.
    const [app] = readApps([{ app: appFiles.get(slug) ?? slug, flows: [{}] }], APP_FILE);
    if (!app || (only !== undefined && slug !== only)) return [];
    const notes = new Set(parts.flatMap((part) => part.notes));
    return [{ app: app.app, flows: parts.flatMap(({ flows }) => flows), notes: [...notes] }];
  });
  const policy = { replace: true, strictIds: true };
  await importAndReport(apps, { hub, policy, publish }, json);
  if (apps.length === 0 && !json) print(`No flows found in ${dir}.`);
}

/** As much of the API's views as the files contain. */
interface AppView {
  slug: string;
  name: string;
  description: string;
}
interface FlowView {
  id: string;
  app: string;
  name: string;
  description: string;
  nodes: object[];
  edges: object[];
}

const contentOf = ({ id, app, name, description, nodes, edges }: FlowView) => ({
  id,
  app,
  name,
  description,
  nodes,
  edges,
});

/** The JSON files in the subfolders of `dir`. */
function filesIn(dir: string): { path: string; folder: string; content: JsonObject }[] {
  if (!existsSync(dir)) return [];
  const folders = readdirSync(dir, { withFileTypes: true }).filter((entry) => entry.isDirectory());
  return folders.flatMap(({ name: folder }) =>
    readdirSync(join(dir, folder))
      .filter((name) => name.endsWith(".json"))
      .toSorted()
      .map((name) => {
        const path = join(dir, folder, name);
        const content = readJsonFile(path);
        if (!isObject(content)) throw new UsageError(`${path}: must contain an object.`);
        return { path, folder, content };
      }),
  );
}

async function appsOf(hub: HubClient, only: string | undefined): Promise<AppView[]> {
  if (only === undefined) return allPages<AppView>(hub, "/api/apps");
  try {
    return [await hub.request<AppView>("GET", `/api/apps/${encodeURIComponent(only)}`)];
  } catch (error) {
    if (!(error instanceof HubRequestFailed) || error.status !== 404) throw error;
    throw new UsageError(`The app ${only} does not exist.`);
  }
}

async function flowsOf(hub: HubClient, app: string): Promise<FlowView[]> {
  const flows: FlowView[] = [];
  for (const { id } of await allPages<{ id: string }>(hub, `/api/apps/${app}/flows`))
    flows.push(await hub.request("GET", `/api/flows/${encodeURIComponent(id)}`));
  return flows;
}
