/** The lane of a run: shared by all runs of its trigger, or only by those with the same key value. */
import type { StoredTrigger } from "../store/flow-store.ts";
import type { LaneLimit, WhenFull } from "../store/run-store.ts";

/** The field `concurrency` in the config of a trigger node. */
interface Concurrency {
  most: number;
  key?: string;
  whenFull?: WhenFull;
}

/** The value of a key as a text; see `laneKey`. */
export type KeyOf = (key: string) => string;

export const laneOf = (
  { flow_id, node_id }: Pick<StoredTrigger, "flow_id" | "node_id">,
  key: string | undefined,
  keyOf: KeyOf,
): string => `${flow_id}:${node_id}:${key === undefined ? "" : keyOf(key)}`;

/** The concurrency limit for a run with these keys; undefined if the trigger has none. */
export function limitOf(
  trigger: Pick<StoredTrigger, "flow_id" | "node_id" | "config">,
  keyOf: KeyOf,
): LaneLimit | undefined {
  const concurrency = trigger.config.concurrency as Concurrency | undefined;
  if (!concurrency) return undefined;
  const { most, key, whenFull } = concurrency;
  return { lane: laneOf(trigger, key, keyOf), max: most, whenFull };
}

/** The paths of the keys in the config of a trigger. */
export const keysOf = ({ config }: Pick<StoredTrigger, "config">): string[] =>
  [config.concurrency, config.gather].flatMap((one) => {
    const key = (one as { key?: string } | undefined)?.key;
    return key === undefined ? [] : [key];
  });
