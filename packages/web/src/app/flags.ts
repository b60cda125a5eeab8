/** Small facts that this browser keeps: what was seen or hidden. */
import { useSyncExternalStore } from "react";

const keyOf = (name: string) => `signalbox.${name}`;
/** For a browser without storage, until the page is closed. */
const known = new Set<string>();
const listeners = new Set<() => void>();

function readFlag(name: string): boolean {
  try {
    return known.has(name) || localStorage.getItem(keyOf(name)) !== null;
  } catch {
    return false;
  }
}

export function setFlag(name: string): void {
  known.add(name);
  try {
    localStorage.setItem(keyOf(name), "1");
  } catch {
    // See `known`.
  }
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

export const useFlag = (name: string): boolean =>
  useSyncExternalStore(subscribe, () => readFlag(name));
