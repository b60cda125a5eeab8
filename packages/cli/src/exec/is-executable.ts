import { accessSync, constants, statSync } from "node:fs";
import { delimiter, join } from "node:path";

/** Returns whether the command is an executable file: a path, or a name in PATH. */
export function isExecutable(command: string, path = process.env.PATH ?? ""): boolean {
  // On Windows, a name can stand for files with several extensions. A missing command is reported when
  // it is started.
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
