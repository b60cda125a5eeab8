/** The lane of a run: shared by all runs of its trigger, or only by those with the same key value. */
import type { Json } from "@signalbox/rules/json.ts";
import { parsePath, valuesAt } from "@signalbox/rules/match/path.ts";
import type { StoredTrigger } from "../store/flow-store.ts";
import type { LaneLimit, WhenFull } from "../store/run-store.ts";

/** The field `concurrency` in the config of a trigger node. */
interface Concurrency {
  most: number;
  key?: string;
  whenFull?: WhenFull;
}

export function laneOf(
  { flow_id, node_id }: Pick<StoredTrigger, "flow_id" | "node_id">,
  key: string | undefined,
  data: Json,
): string {
  const path = key === undefined ? undefined : parsePath(key);
  const value = path ? JSON.stringify(valuesAt(data, path)).slice(0, 500) : "";
  return `${flow_id}:${node_id}:${value}`;
}

/** The concurrency limit for a run with this data; undefined if the trigger has none. */
export function limitOf(
  trigger: Pick<StoredTrigger, "flow_id" | "node_id" | "config">,
  data: Json,
): LaneLimit | undefined {
  const concurrency = trigger.config.concurrency as Concurrency | undefined;
  if (!concurrency) return undefined;
  const { most, key, whenFull } = concurrency;
  return { lane: laneOf(trigger, key, data), max: most, whenFull };
}
