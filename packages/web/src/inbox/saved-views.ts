/** Views that the user has named. They are kept in this browser. */
import { useSyncExternalStore } from "react";

export interface SavedView {
  name: string;
  /** The search of the address. */
  search: string;
}

const KEY = "signalbox.views";
const MAX_VIEWS = 50;
const listeners = new Set<() => void>();
let views: readonly SavedView[] = read();

function read(): SavedView[] {
  try {
    return parseViews(localStorage.getItem(KEY) ?? "[]");
  } catch {
    return [];
  }
}

/** Ignores what is not a view: another version may have written it. */
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

function show(next: readonly SavedView[]): void {
  views = next;
  for (const listener of listeners) listener();
}

function save(next: readonly SavedView[]): void {
  show(next);
  try {
    localStorage.setItem(KEY, JSON.stringify(next));
  } catch {
    // Without storage the views last until the page is closed.
  }
}

// Another tab has saved or deleted a view.
globalThis.addEventListener?.("storage", ({ key }) => key === KEY && show(read()));

export const useSavedViews = (): readonly SavedView[] =>
  useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    () => views,
  );

/** A view with the same name is replaced. */
export const saveView = (view: SavedView): void =>
  save([...views.filter(({ name }) => name !== view.name), view].slice(-MAX_VIEWS));

export const removeView = (name: string): void => save(views.filter((view) => view.name !== name));
