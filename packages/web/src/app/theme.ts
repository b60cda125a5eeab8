/** The theme: light, dark, or that of the system. public/theme.js applies the stored choice before the first paint. */
import { useSyncExternalStore } from "react";

export type ThemeChoice = "system" | "light" | "dark";
const KEY = "signalbox.theme";
const prefersDark = matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();

const readChoice = (): ThemeChoice => {
  try {
    const value = localStorage.getItem(KEY);
    return value === "light" || value === "dark" ? value : "system";
  } catch {
    return "system";
  }
};
let choice = readChoice();

const apply = () => {
  const isDark = choice === "dark" || (choice === "system" && prefersDark.matches);
  document.documentElement.dataset.theme = isDark ? "dark" : "light";
  for (const listener of listeners) listener();
};
prefersDark.addEventListener("change", apply);

export function setTheme(next: ThemeChoice): void {
  choice = next;
  try {
    if (next === "system") localStorage.removeItem(KEY);
    else localStorage.setItem(KEY, next);
  } catch {
    // Without storage the choice lasts until the page is closed.
  }
  apply();
}

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};
export const useThemeChoice = () => useSyncExternalStore(subscribe, () => choice);
export const useIsDark = () =>
  useSyncExternalStore(subscribe, () => document.documentElement.dataset.theme === "dark");
