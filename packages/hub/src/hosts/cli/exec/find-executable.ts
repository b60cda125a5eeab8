import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Whether the command exists: a path, or a name in PATH. */
export function isExecutable(command: string, path = process.env.PATH ?? ""): boolean {
  // There, a name can have many extensions; the start of the command reports an error.
  if (process.platform === "win32") return true;
  if (command === "") return false;
  if (command.includes("/")) return isExecutableFile(command);
  return path.split(delimiter).some((folder) => isExecutableFile(join(folder || ".", command)));
}

function isExecutableFile(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return statSync(path).isFile();
  } catch {
    return false;
  }
}
