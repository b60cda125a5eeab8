/** Requests for a part of a payload, and their results. The sandbox reads large payloads. */
import type { Json } from "../json.ts";

export interface PartRequest {
  path?: string | undefined;
  /** Where to start, in bytes of the JSON. */
  offset: number;
  maxBytes: number;
}

/** A payload or a part of it: the value or, if its JSON exceeds `maxBytes`, a slice of the JSON. */
export interface PayloadPart {
  payload: Json;
  /** Whether `payload` is a slice. */
  truncated?: boolean;
  /** The bytes of the whole JSON. */
  payload_bytes?: number;
  /** Where the next slice starts; null after the last. */
  next_offset?: number | null;
}

export interface PayloadConditions {
  /** For each, one of the values at the path must be equal to `value`. */
  conditions: readonly { path: string; value: string | number | boolean | null }[];
}
