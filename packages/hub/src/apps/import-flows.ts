/**
 * Brings an app's flows in from files: all of them in one transaction, or none. A flow that is here
 * already (by its id, or else by its name) is found again, so that a second time changes nothing.
 */

import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { migrateApp } from "../legacy/migrate-tools.ts";
import type { AppFile } from "../legacy/read-flow-file.ts";
import { RequestError } from "../lib/request-error.ts";
import type { EditFlow, PlanFlows, StoredFlow } from "../store/flow-store.ts";
import type { Store } from "../store/store.ts";
import { finishDraft } from "./finish-draft.ts";
import { importDraft } from "./import-draft.ts";

interface PlanOptions {
  registry: NodeRegistry;
  newId: () => string;
}

export interface ImportOptions extends PlanOptions {
  store: Pick<Store, "saveFlows">;
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
  /** An id that is a flow's elsewhere is refused; otherwise the flow gets a new one. */
  strictIds: boolean;
}

export function createImports({ store, registry, newId, now }: ImportOptions) {
  return {
    async importApp(
      tenant: string,
      { app, flows }: AppFile,
      how: HowToImport,
    ): Promise<ImportedFlow[]> {
      const at = now();
      const { plan, told } = planImport(flows, how, { registry, newId });
      return told(await store.saveFlows({ tenant, ...app, created_at: at, updated_at: at }, plan));
    },
  };
}

/** How flows come into an app, given what it has; and what became of them, once that is saved. */
export function planImport(
  flows: readonly JsonObject[],
  { replace, strictIds }: HowToImport,
  { registry, newId }: PlanOptions,
): { plan: PlanFlows; told: (saved: readonly StoredFlow[]) => ImportedFlow[] } {
  let imported: ImportedFlow[] = [];
  /** Those of them that are saved. */
  let planned: ImportedFlow[] = [];
  const plan: PlanFlows = (existing) => {
    imported = [];
    planned = [];
    const migrated = migrateApp(flows, freeIds("migrated", [...flows]));
    const match = matcher(existing, flows);
    return flows.flatMap((flow, nth) => {
      const found = match(flow);
      const name = String(flow.name ?? "");
      if (found && !replace) {
        imported.push({ id: found.id, name, outcome: "skipped", notes: [] });
        return [];
      }
      const one: ImportedFlow = {
        id: found?.id ?? unusedId(flow, imported) ?? newId(),
        name,
        outcome: found ? "replaced" : "created",
        notes: [],
      };
      imported.push(one);
      const { flow: input = flow, notes = [] } = migrated[nth] ?? {};
      const edit: EditFlow = ({ taken }) => {
        try {
          const { draft, notes: more } = importDraft(
            input,
            registry,
            taken,
            freeIds("edge", input),
          );
          one.notes = [...notes, ...more];
          return finishDraft(draft, draft.nodes, taken, registry);
        } catch (error) {
          throw named(error, name);
        }
      };
      if (found && isAsStored(found, edit, existing)) {
        one.outcome = "unchanged";
        return [];
      }
      planned.push(one);
      return [{ id: one.id, fallbackId: strictIds ? undefined : newId(), edit }];
    });
  };
  return {
    plan,
    told(saved) {
      for (const [nth, { id }] of saved.entries()) (planned[nth] as ImportedFlow).id = id;
      return imported;
    },
  };
}

/** Two flows of one id are two flows. */
function unusedId(flow: JsonObject, imported: readonly ImportedFlow[]): string | undefined {
  const id = idOf(flow);
  return imported.some((one) => one.id === id) ? undefined : id;
}

/** Each stored flow is found once: two flows of one name are two flows. */
function matcher(existing: readonly StoredFlow[], flows: readonly JsonObject[]) {
  const ids = new Set(flows.map(idOf));
  const byId = new Map(existing.map((flow) => [flow.id, flow]));
  const unclaimed = existing.filter(({ id }) => !ids.has(id));
  return (flow: JsonObject): StoredFlow | undefined => {
    const id = idOf(flow) ?? "";
    const own = byId.get(id);
    byId.delete(id);
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
export function freeIds(word: string, within: Json): () => string {
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
  if (!(error instanceof RequestError)) return error;
  return new RequestError(error.code, error.field, `${flow}: ${detailOf(error)}`, error.errors);
}

export const detailOf = ({ errors, message }: RequestError): string =>
  errors.length > 0 ? errors.map(({ path, message }) => `${path}: ${message}`).join("; ") : message;
