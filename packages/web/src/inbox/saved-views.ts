/** Filters that the user has saved under a name, in the local storage of the browser. */
import { useSyncExternalStore } from "react";

export interface SavedView {
  name: string;
  /** The query string of the URL, such as `?view=failed`. */
  search: string;
}

const KEY = "signalbox.views";
const MAX_VIEWS = 50;
const listeners = new Set<() => void>();
let views: readonly SavedView[] = readViews();

function readViews(): SavedView[] {
  try {
    return parseViews(localStorage.getItem(KEY) ?? "[]");
  } catch {
    return [];
  }
}

/** Ignores values that are not views, because another version of the UI may have stored them. */
export function parseViews(text: string): SavedView[] {
  try {
    const stored: unknown = JSON.parse(text);
    if (!Array.isArray(stored)) return [];
    return stored
      .filter(
        (view): view is SavedView =>
          typeof view?.name === "string" && typeof view?.search === "string",
      )
      .slice(0, MAX_VIEWS);
  } catch {
    return [];
  }
}

function setViews(next: readonly SavedView[]): void {
  views = next;
  for (const listener of listeners) listener();
}

function storeViews(next: readonly SavedView[]): void {
  setViews(next);
  try {
    localStorage.setItem(KEY, JSON.stringify(next));
  } catch {
    // Without local storage, the views are lost when the page is closed.
  }
}

// The event is sent if another tab has saved or deleted a view.
globalThis.addEventListener?.("storage", ({ key }) => key === KEY && setViews(readViews()));

export const useSavedViews = (): readonly SavedView[] =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => views,
  );

/** Replaces a view with the same name. Above the maximum, the oldest view is removed. */
export const saveView = (view: SavedView): void =>
  storeViews([...views.filter(({ name }) => name !== view.name), view].slice(-MAX_VIEWS));

export const removeView = (name: string): void =>
  storeViews(views.filter((view) => view.name !== name));
