/**
 * Names the lane of a run. All runs of a trigger share one lane. If the trigger has a `key`, only runs
 * with the same value at that path share a lane.
 */
import type { StoredTrigger } from "../model.ts";
import type { LaneLimit, WhenFull } from "./model.ts";

/** The field `concurrency` in the config of a trigger node. */
interface Concurrency {
  most: number;
  key?: string;
  whenFull?: WhenFull;
}

/** Reads the value at the path `key` in the input of a run, as text; see `laneKey`. */
export type ReadKey = (key: string) => string;

export const laneOf = (
  { flow_id, node_id }: Pick<StoredTrigger, "flow_id" | "node_id">,
  key: string | undefined,
  readKey: ReadKey,
): string => `${flow_id}:${node_id}:${key === undefined ? "" : readKey(key)}`;

/**
 * The concurrency limit of a run, with the name of its lane; undefined if the trigger has no limit.
 */
export function limitOf(
  trigger: Pick<StoredTrigger, "flow_id" | "node_id" | "config">,
  readKey: ReadKey,
): LaneLimit | undefined {
  const concurrency = trigger.config.concurrency as Concurrency | undefined;
  if (!concurrency) return undefined;
  const { most, key, whenFull } = concurrency;
  return { lane: laneOf(trigger, key, readKey), max: most, whenFull };
}

/** The paths of the keys in the config of a trigger. */
export const keysOf = ({ config }: Pick<StoredTrigger, "config">): string[] =>
  [config.concurrency, config.gather].flatMap((setting) => {
    const key = (setting as { key?: string } | undefined)?.key;
    return key === undefined ? [] : [key];
  });
