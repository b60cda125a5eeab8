/** "Why did it not fire?" and "once more, please". */
import { RequestError } from "../lib/request-error.ts";
import type { StoredTrigger } from "../store/flow-store.ts";
import type { NewEvent, Store } from "../store/store.ts";
import { loadEvent } from "./event-input.ts";
import { judge, type PlanOptions, planEvent } from "./matcher.ts";

export interface ExplainOptions extends Omit<PlanOptions, "cause"> {
  store: Pick<
    Store,
    | "getEvent"
    | "getPayload"
    | "getFlow"
    | "getRun"
    | "listVerdicts"
    | "listEventTriggers"
    | "findTriggers"
    | "queueRuns"
  >;
}

export interface ExplainedTrigger {
  /** The flow's name and the node's. */
  trigger: string;
  flow_id: string;
  matched: boolean;
  /** What was looked at, in words. */
  reason: string;
  /** Triggers that were made later, or that could not have been meant, are looked at now. */
  decided: "on arrival" | "now";
  run_id: string | null;
  run_status: string | null;
}

export type Triggers = ReturnType<typeof createTriggers>;

/** More would be read by nobody. */
const MOST_EXPLAINED = 200;

export function createTriggers({ store, ...options }: ExplainOptions) {
  const find = async (tenant: string, id: string) => {
    const loaded = await loadEvent(store, tenant, id);
    if (!loaded) throw new RequestError("not_found", "event_id", "There is no such event.");
    return { ...loaded, asNew: { ...loaded.event, ...loaded.payload } as NewEvent };
  };
  const nameOf = async (tenant: string, flow_id: string, node_id: string): Promise<string> => {
    const flow = await store.getFlow(tenant, flow_id);
    const node = flow?.graph.nodes.find(({ id }) => id === node_id);
    return flow ? `${flow.name} / ${node?.name ?? node_id}` : `a flow that was deleted`;
  };

  return {
    /** Every trigger that was considered, and those of the tenant that could not have been. */
    async explain(tenant: string, id: string): Promise<ExplainedTrigger[]> {
      const { asNew, input } = await find(tenant, id);
      const explained: ExplainedTrigger[] = [];
      const seen = new Set<string>();
      for (const { flow_id, node_id, matched, reasons, run_id } of await store.listVerdicts(
        tenant,
        id,
      )) {
        seen.add(`${flow_id} ${node_id}`);
        const run = run_id === null ? undefined : await store.getRun(tenant, run_id);
        explained.push({
          trigger: await nameOf(tenant, flow_id, node_id),
          flow_id,
          matched,
          reason: inWords(reasons),
          decided: "on arrival",
          run_id,
          run_status: run?.status ?? null,
        });
      }
      for (const trigger of await store.listEventTriggers(tenant, MOST_EXPLAINED)) {
        const { flow_id, node_id } = trigger;
        if (seen.has(`${flow_id} ${node_id}`)) continue;
        const { matched, reasons } = await judge(tenant, asNew, input.data ?? null, trigger);
        explained.push({
          trigger: await nameOf(tenant, flow_id, node_id),
          flow_id,
          matched,
          reason: matched
            ? `was not there when the event came; now: ${inWords(reasons)}`
            : inWords(reasons),
          decided: "now",
          run_id: null,
          run_status: null,
        });
      }
      return explained;
    },

    /** Runs the triggers again on a stored event, or those of one flow. */
    async replay(
      tenant: string,
      id: string,
      flow?: string,
    ): Promise<{ runs: { run_id: string; flow_id: string }[]; considered: number }> {
      const { asNew } = await find(tenant, id);
      if (flow !== undefined && !(await store.getFlow(tenant, flow)))
        throw new RequestError("not_found", "flow", `There is no flow ${flow.slice(0, 100)}.`);
      const sources = [asNew.source, asNew.source_id];
      const { triggers } = await store.findTriggers(tenant, sources, asNew.type);
      const wanted = triggers.filter(
        ({ flow_id }: StoredTrigger) => flow === undefined || flow_id === flow,
      );
      const { runs } = await planEvent(tenant, asNew, wanted, { ...options, cause: "replay" });
      const ids = await store.queueRuns(runs);
      return {
        runs: runs.map(({ flow_id }, nth) => ({ run_id: ids[nth] as string, flow_id })),
        considered: wanted.length,
      };
    },
  };
}

const inWords = (reasons: readonly { holds: boolean; message: string }[]): string => {
  const against = reasons.filter(({ holds }) => !holds);
  return (against.length > 0 ? against : reasons).map(({ message }) => message).join("; ");
};
