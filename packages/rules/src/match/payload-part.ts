/** Types of requests for a part of a payload, and of their results. The sandbox reads large payloads. */
import type { Json } from "../json.ts";

export interface PartRequest {
  path?: string | undefined;
  /** The byte of the JSON at which a slice starts. */
  offset: number;
  maxBytes: number;
}

/** A payload or a part of it: the value or, if its JSON exceeds `maxBytes`, a slice of the JSON. */
export interface PayloadPart {
  payload: Json;
  /** Whether `payload` is a slice. */
  truncated?: boolean;
  /** The size of the whole JSON. */
  payload_bytes?: number;
  /** The byte at which the next slice starts; null after the last slice. */
  next_offset?: number | null;
}

export interface PayloadConditions {
  /** A condition is fulfilled if one of the values at its path is equal to its `value`. */
  conditions: readonly { path: string; value: string | number | boolean | null }[];
}
