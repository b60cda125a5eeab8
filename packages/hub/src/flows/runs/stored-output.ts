/**
 * Large outputs are not kept in memory once they are stored: the frame keeps only their keys. They are
 * loaded for the nodes that read them. See docs/decisions/0020-outputs-by-reference.md.
 */
import type { MixedJson } from "@signalbox/rules/large-json.ts";
import type { StepRef } from "./model.ts";

export class StoredOutput {
  readonly step: StepRef;
  readonly #value: WeakRef<object> | undefined;

  /** `cachedValue` returns `value` until it is garbage-collected. */
  constructor({ node_id, item, attempt }: StepRef, value?: MixedJson) {
    this.step = { node_id, item, attempt };
    if (typeof value === "object" && value !== null) this.#value = new WeakRef(value);
  }

  cachedValue(): MixedJson | undefined {
    return this.#value?.deref() as MixedJson | undefined;
  }
}

/** The values of the stored outputs that were loaded for one node. */
export type LoadedOutputs = ReadonlyMap<StoredOutput, MixedJson>;

export const NONE_LOADED: LoadedOutputs = new Map();
