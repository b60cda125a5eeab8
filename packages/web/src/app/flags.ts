/** Flags in the local storage of the browser, such as whether a hint was hidden. */
import { useSyncExternalStore } from "react";

const keyOf = (name: string) => `signalbox.${name}`;
/** The flags of a browser without local storage, until the page is closed. */
const inMemory = new Set<string>();
const listeners = new Set<() => void>();

function readFlag(name: string): boolean {
  try {
    return inMemory.has(name) || localStorage.getItem(keyOf(name)) !== null;
  } catch {
    return false;
  }
}

export function setFlag(name: string): void {
  inMemory.add(name);
  try {
    localStorage.setItem(keyOf(name), "1");
  } catch {
    // The flag is in `inMemory`.
  }
  for (const listener of listeners) listener();
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

export const useFlag = (name: string): boolean =>
  useSyncExternalStore(subscribe, () => readFlag(name));
