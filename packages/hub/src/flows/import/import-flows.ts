/**
 * Imports an app's flows from files, all in one transaction. An existing flow is found by its id, or
 * else by its name, so a second import of the same file changes nothing.
 */

import type { AppFile } from "@signalbox/rules/flows/import/read-flow-file.ts";
import type { NodeRegistry } from "@signalbox/rules/flows/node-type.ts";
import { isObject, type Json, type JsonObject } from "@signalbox/rules/json.ts";
import { truncate } from "@signalbox/rules/truncate.ts";
import { RequestError, validationError } from "../../kernel/lib/request-error.ts";
import type { Store } from "../../store.ts";
import { finishDraft } from "../editing/edit-draft.ts";
import type { EditFlow, PlanFlows, StoredFlow } from "../model.ts";
import { findFirstTools } from "./first-tools.ts";
import { importDraft } from "./import-draft.ts";
import { findTooLongList, hasLegacyNodes } from "./import-flow.ts";
import { migrateApp } from "./migrate-tools.ts";

interface PlanOptions {
  registry: NodeRegistry;
  newId: () => string;
}

export interface ImportOptions extends PlanOptions {
  store: Pick<Store, "saveFlows">;
  now: () => number;
}

/** An app and its flows in a file. */
export type AppFlows = Pick<AppFile, "app" | "flows">;

export interface ImportedFlow {
  id: string;
  name: string;
  outcome: "created" | "replaced" | "unchanged" | "skipped";
  /** One message for each change or problem. */
  notes: string[];
}

export interface ImportPolicy {
  /** Replaces existing flows; otherwise skips them. */
  replace: boolean;
  /** Rejects an id that a flow of another app has; otherwise the flow gets a new id. */
  strictIds: boolean;
}

export function createImports({ store, registry, newId, now }: ImportOptions) {
  return {
    async importApp(
      tenant: string,
      { app, flows }: AppFlows,
      policy: ImportPolicy,
    ): Promise<ImportedFlow[]> {
      const at = now();
      const { plan, report } = planImport(flows, policy, { registry, newId });
      const saved = await store.saveFlows({ tenant, ...app, created_at: at, updated_at: at }, plan);
      return report(saved);
    },
  };
}

/**
 * `plan` decides which flows to save, depending on the flows that the app has. After they are saved,
 * `report` returns the outcome of each imported flow.
 */
export function planImport(
  flows: readonly JsonObject[],
  { replace, strictIds }: ImportPolicy,
  { registry, newId }: PlanOptions,
): { plan: PlanFlows; report: (saved: readonly StoredFlow[]) => ImportedFlow[] } {
  let imported: ImportedFlow[] = [];
  /** The imported flows that are saved, in order. */
  let planned: ImportedFlow[] = [];
  for (const flow of flows) {
    const tooLong = findTooLongList(flow);
    if (tooLong) throw withFlowName(validationError([tooLong]), String(flow.name ?? ""));
  }
  const firstTools = findFirstTools(flows);
  const plan: PlanFlows = (existing) => {
    imported = [];
    planned = [];
    const migrated = migrateApp(flows, unusedIds("migrated", [...flows]));
    const findExisting = createFindExisting(existing, flows);
    return flows.flatMap((flow, index) => {
      const stored = findExisting(flow);
      const name = String(flow.name ?? "");
      if (stored && !replace) {
        imported.push({ id: stored.id, name, outcome: "skipped", notes: [] });
        return [];
      }
      const entry: ImportedFlow = {
        id: stored?.id ?? idIfUnused(flow, imported) ?? newId(),
        name,
        outcome: stored ? "replaced" : "created",
        notes: [],
      };
      imported.push(entry);
      const { flow: input = flow, notes = [] } = migrated[index] ?? {};
      const edit: EditFlow = ({ takenNames }) => {
        try {
          const { draft, notes: draftNotes } = importDraft(
            input,
            registry,
            takenNames,
            unusedIds("edge", input),
            {
              triggerOf: (called) => firstTools.get(called),
              hasLegacyNodes: hasLegacyNodes(flow),
            },
          );
          entry.notes = [...notes, ...draftNotes];
          return finishDraft(draft, draft.nodes, takenNames, registry);
        } catch (error) {
          throw withFlowName(error, name);
        }
      };
      if (stored && isUnchanged(stored, edit, existing)) {
        entry.outcome = "unchanged";
        return [];
      }
      planned.push(entry);
      return [{ id: entry.id, fallbackId: strictIds ? undefined : newId(), edit }];
    });
  };
  return {
    plan,
    report(saved) {
      for (const [index, { id }] of saved.entries()) (planned[index] as ImportedFlow).id = id;
      return imported;
    },
  };
}

/** Undefined for the second of two imported flows with the same id, which gets a new id. */
function idIfUnused(flow: JsonObject, imported: readonly ImportedFlow[]): string | undefined {
  const id = idOf(flow);
  return imported.some((entry) => entry.id === id) ? undefined : id;
}

/** Finds each existing flow at most once, so that two flows with the same name stay two flows. */
function createFindExisting(existing: readonly StoredFlow[], flows: readonly JsonObject[]) {
  const ids = new Set(flows.map(idOf));
  const byId = new Map(existing.map((flow) => [flow.id, flow]));
  const findableByName = existing.filter(({ id }) => !ids.has(id));
  return (flow: JsonObject): StoredFlow | undefined => {
    const id = idOf(flow) ?? "";
    const sameId = byId.get(id);
    byId.delete(id);
    if (sameId) return sameId;
    const index = findableByName.findIndex(({ name }) => name === flow.name);
    return index === -1 ? undefined : findableByName.splice(index, 1)[0];
  };
}

function isUnchanged(flow: StoredFlow, edit: EditFlow, existing: readonly StoredFlow[]): boolean {
  const others = existing.filter(({ id }) => id !== flow.id);
  const takenNames = new Set(
    others.flatMap(({ graph }) => graph.nodes.map(({ parameters }) => String(parameters.toolName))),
  );
  const { name, description, graph } = edit({ flow, takenNames, callable: new Map() });
  const imported = JSON.stringify([name, description, graph]);
  return imported === JSON.stringify([flow.name, flow.description, flow.graph]);
}

/** The id of an imported flow, if it is valid in URLs. Legacy systems use numbers. */
export function idOf({ id }: JsonObject): string | undefined {
  const text = typeof id === "number" ? String(id) : id;
  return typeof text === "string" && /^[\w-]{1,100}$/.test(text) ? text : undefined;
}

/** Creates ids that do not occur in `input`. They are deterministic: a file always creates the same flows. */
export function unusedIds(prefix: string, input: Json): () => string {
  const used = new Set<Json | undefined>();
  const collect = (value: Json | undefined) => {
    if (Array.isArray(value)) for (const item of value) collect(item);
    if (!isObject(value)) return;
    used.add(value.id);
    for (const name of ["nodes", "edges", "connections"]) collect(value[name]);
  };
  collect(input);
  let number = 0;
  return () => {
    let id: string;
    do id = `${prefix}-${++number}`;
    while (used.has(id));
    return id;
  };
}

function withFlowName(error: unknown, flow: string): unknown {
  if (!(error instanceof RequestError)) return error;
  return new RequestError(
    error.code,
    error.field,
    `${truncate(flow, 100)}: ${detailOf(error)}`,
    error.errors,
  );
}

export const detailOf = ({ errors, message }: RequestError): string =>
  errors.length > 0
    ? errors
        .map(({ path, message }) =>
          path === "(root)" ? `the flow ${message}` : `${path}: ${message}`,
        )
        .join("; ")
    : message;
