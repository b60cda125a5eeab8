/** How a capability defines its settings: their names, their help and their schemas. */
import { parseNetworks } from "./http/addresses.ts";

export * from "@signalbox/rules/settings.ts";

export const DAY_MS = 24 * 60 * 60 * 1000;

export function areNetworks(texts: readonly string[]): boolean {
  try {
    parseNetworks(texts);
    return true;
  } catch {
    return false;
  }
}
