import { realpathSync } from "node:fs";
import { basename, delimiter, dirname } from "node:path";
import { quoteForShell } from "./same-hub-flags.ts";

/**
 * Returns how printed commands call this program. `npx signalbox` works only in a checkout: the package is
 * not on npm, so elsewhere npx would run another package of that name. `path` is the PATH variable.
 */
export function programOf(script: string, path: string): string {
  const file = realPath(script);
  const name = nameOf(file);
  const isInstalled = basename(file) === `${name}.js` && /[\\/]node_modules[\\/]/.test(file);
  if (!isInstalled) return `npx ${name}`;
  const folder = dirname(script);
  // npx and npm scripts add node_modules/.bin to PATH. The PATH of the user's terminal does not contain it.
  const isOnPath =
    !/node_modules[\\/]\.bin$/.test(folder) && path.split(delimiter).includes(folder);
  return basename(script) === name && isOnPath ? name : quoteForShell(script);
}

function realPath(file: string): string {
  try {
    return realpathSync(file);
  } catch {
    return file;
  }
}

/** The program without the hub. */
const CLI = "signalbox-cli";

const nameOf = (file: string): string => (basename(file) === `${CLI}.js` ? CLI : "signalbox");

const script = process.argv[1] ?? "";

/** Whether this program can start a hub. */
export const canServe = nameOf(realPath(script)) !== CLI;

export const program = programOf(script, process.env.PATH ?? "");

/**
 * Matches how texts call this program. Those of the hub name commands that may exist only on its machine, so
 * the program without the hub leaves them.
 */
const CALL = canServe
  ? /npx (?:@signalbox\/cli|signalbox)/g
  : /npx (?:@signalbox\/cli|signalbox-cli)/g;

/** Replaces the calls of this program in a text with the call that works on this machine. */
export const withProgram = (text: string): string => text.replaceAll(CALL, () => program);
