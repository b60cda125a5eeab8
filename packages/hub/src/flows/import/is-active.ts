import type { Json } from "@signalbox/rules/json.ts";

/** A missing value means active. Databases without booleans store numbers or text. */
export const isActiveValue = (value: Json | undefined): boolean =>
  value !== false && value !== 0 && value !== "false" && value !== "0";
