import { statSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Describes the first of these files that belongs to another user than this process, with the fix; undefined if
 * there is none. Such files remain after a restore as root. Files that do not exist are skipped.
 */
export function describeForeignOwner(files: readonly string[]): string | undefined {
  const user = process.geteuid?.();
  if (user === undefined || user === 0) return undefined;
  const foreign = files.find((file) => ![undefined, user].includes(ownerOf(file)));
  if (foreign === undefined) return undefined;
  const folder = dirname(foreign);
  const fix =
    ownerOf(folder) === user
      ? `chown --reference='${folder}' '${foreign}'`
      : `chown --recursive ${user} '${folder}'`;
  return `${foreign} belongs to the user ${ownerOf(foreign)}, but this process runs as the user ${user}. Change its owner, as root: ${fix}`;
}

function ownerOf(file: string): number | undefined {
  try {
    return statSync(file).uid;
  } catch {
    return undefined; // it does not exist, or its folder cannot be read
  }
}
