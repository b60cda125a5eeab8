/**
 * Brings an app's flows in from files: all of them in one transaction, or none. A flow that is here
 * already (by its id, or else by its name) is found again, so that a second time changes nothing.
 */
import { migrateApp } from "../flows/migrate-tools.ts";
import type { NodeRegistry } from "../flows/node-type.ts";
import { Fault } from "../lib/fault.ts";
import { isObject, type Json, type JsonObject } from "../lib/json.ts";
import type { EditFlow, PlanFlows, StoredFlow } from "../store/flow-store.ts";
import type { Store } from "../store/store.ts";
import { finishDraft } from "./finish-draft.ts";
import { importDraft } from "./import-draft.ts";
import type { AppFile } from "./read-flow-file.ts";

export interface ImportOptions {
  store: Pick<Store, "saveFlows">;
  registry: NodeRegistry;
  newId: () => string;
  now: () => number;
}

export interface ImportedFlow {
  id: string;
  name: string;
  outcome: "created" | "replaced" | "unchanged" | "skipped";
  /** For people, each about one odd thing. */
  notes: string[];
}

export interface HowToImport {
  /** What is here already is replaced; otherwise it is left as it is. */
  replace: boolean;
  /** An id that is a flow's elsewhere is refused; otherwise the flows get new ones. */
  strictIds: boolean;
}

export function createImports({ store, registry, newId, now }: ImportOptions) {
  const save = async (
    tenant: string,
    { app, flows }: AppFile,
    { replace }: HowToImport,
    useIds: boolean,
  ): Promise<ImportedFlow[]> => {
    let imported: ImportedFlow[] = [];
    const at = now();
    const plan: PlanFlows = (existing) => {
      imported = [];
      const migrated = migrateApp(flows, freeIds("migrated", flows));
      const match = matcher(existing, flows, useIds);
      return flows.flatMap((flow, nth) => {
        const found = match(flow);
        const name = String(flow.name ?? "");
        if (found && !replace) {
          imported.push({ id: found.id, name, outcome: "skipped", notes: [] });
          return [];
        }
        const one: ImportedFlow = {
          id: found?.id ?? (useIds ? idOf(flow) : undefined) ?? newId(),
          name,
          outcome: found ? "replaced" : "created",
          notes: [],
        };
        imported.push(one);
        const { flow: input = flow, notes = [] } = migrated[nth] ?? {};
        const edit: EditFlow = ({ taken }) => {
          try {
            const { draft, notes: more } = importDraft(input, taken, freeIds("edge", input));
            one.notes = [...notes, ...more];
            return finishDraft(draft, draft.nodes, taken, registry);
          } catch (error) {
            throw named(error, name);
          }
        };
        if (!found || !isAsStored(found, edit, existing)) return [{ id: one.id, edit }];
        one.outcome = "unchanged";
        return [];
      });
    };
    await store.saveFlows({ tenant, ...app, created_at: at, updated_at: at }, plan);
    return imported;
  };

  return {
    async importApp(tenant: string, file: AppFile, how: HowToImport): Promise<ImportedFlow[]> {
      try {
        return await save(tenant, file, how, true);
      } catch (error) {
        const taken = error instanceof Fault && error.code === "conflict" && error.field === "id";
        if (!taken || how.strictIds) throw error;
        return save(tenant, file, how, false);
      }
    },
  };
}

/** Each stored flow is found once: two flows of one name are two flows. */
function matcher(existing: readonly StoredFlow[], flows: readonly JsonObject[], useIds: boolean) {
  const ids = new Set(useIds ? flows.map(idOf) : []);
  const byId = new Map(existing.map((flow) => [flow.id, flow]));
  const unclaimed = existing.filter(({ id }) => !ids.has(id));
  return (flow: JsonObject): StoredFlow | undefined => {
    const id = useIds ? idOf(flow) : undefined;
    const own = id === undefined ? undefined : byId.get(id);
    if (own) return own;
    const at = unclaimed.findIndex(({ name }) => name === flow.name);
    return at === -1 ? undefined : unclaimed.splice(at, 1)[0];
  };
}

function isAsStored(flow: StoredFlow, edit: EditFlow, existing: readonly StoredFlow[]): boolean {
  const others = existing.filter(({ id }) => id !== flow.id);
  const taken = new Set(
    others.flatMap(({ graph }) => graph.nodes.map(({ parameters }) => String(parameters.toolName))),
  );
  const { name, description, graph } = edit({ flow, taken, kept: new Map() });
  const wanted = JSON.stringify([name, description, graph]);
  return wanted === JSON.stringify([flow.name, flow.description, flow.graph]);
}

/** Ids stand in URLs; older systems count. */
function idOf({ id }: JsonObject): string | undefined {
  const text = typeof id === "number" ? String(id) : id;
  return typeof text === "string" && /^[\w-]{1,100}$/.test(text) ? text : undefined;
}

/** The same each time, so that the same file makes the same flows. */
function freeIds(word: string, within: Json): () => string {
  const used = new Set<Json | undefined>();
  const collect = (value: Json | undefined) => {
    if (Array.isArray(value)) for (const item of value) collect(item);
    if (!isObject(value)) return;
    used.add(value.id);
    for (const name of ["nodes", "edges", "connections"]) collect(value[name]);
  };
  collect(within);
  let number = 0;
  return () => {
    let id: string;
    do id = `${word}-${++number}`;
    while (used.has(id));
    return id;
  };
}

function named(error: unknown, flow: string): unknown {
  if (!(error instanceof Fault)) return error;
  return new Fault(error.code, error.field, `${flow}: ${detailOf(error)}`, error.errors);
}

const detailOf = ({ errors, message }: Fault): string =>
  errors.length > 0 ? errors.map(({ path, message }) => `${path}: ${message}`).join("; ") : message;
