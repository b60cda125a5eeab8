import { realpathSync } from "node:fs";
import { basename, delimiter, dirname } from "node:path";
import { quote } from "./same-hub-flags.ts";

/**
 * How printed commands call this program. `npx signalbox` works in a checkout only: the package is not
 * on npm, so elsewhere npx would run another package of that name.
 */
export function programOf(script: string, path: string): string {
  const file = realPath(script);
  const isInstalled = basename(file) === "signalbox.js" && /[\\/]node_modules[\\/]/.test(file);
  if (!isInstalled) return "npx signalbox";
  const folder = dirname(script);
  // npx and npm scripts add this folder to the PATH, which the user's terminal does not have.
  const isOnPath =
    !/node_modules[\\/]\.bin$/.test(folder) && path.split(delimiter).includes(folder);
  return basename(script) === "signalbox" && isOnPath ? "signalbox" : quote(script);
}

function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

export const program = programOf(process.argv[1] ?? "", process.env.PATH ?? "");

/** The hub's own text, with commands that run here. */
export const withProgram = (text: string): string =>
  text.replaceAll("npx signalbox", () => program);
