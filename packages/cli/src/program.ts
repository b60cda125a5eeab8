import { realpathSync } from "node:fs";
import { basename, delimiter, dirname } from "node:path";
import { quoteForShell } from "./same-hub-flags.ts";

/**
 * Returns how printed commands call this program. `npx signalbox` works only in a checkout: the package is
 * not on npm, so elsewhere npx would run another package of that name. `path` is the PATH variable.
 */
export function programOf(script: string, path: string): string {
  const file = realPath(script);
  const isInstalled = basename(file) === "signalbox.js" && /[\\/]node_modules[\\/]/.test(file);
  if (!isInstalled) return "npx signalbox";
  const folder = dirname(script);
  // npx and npm scripts add node_modules/.bin to PATH. The PATH of the user's terminal does not contain it.
  const isOnPath =
    !/node_modules[\\/]\.bin$/.test(folder) && path.split(delimiter).includes(folder);
  return basename(script) === "signalbox" && isOnPath ? "signalbox" : quoteForShell(script);
}

function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

export const program = programOf(process.argv[1] ?? "", process.env.PATH ?? "");

/** Replaces `npx signalbox` in a text with the call that works on this machine. */
export const withProgram = (text: string): string =>
  text.replaceAll("npx signalbox", () => program);
