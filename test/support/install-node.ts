import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { tempFolder } from "./temp-folder.ts";

/**
 * Installs a version of Node from npm for the running test, and returns the path of its binary. npm's cache
 * keeps the package, so that only the first run on a machine downloads it.
 */
export async function installNode(version: string): Promise<string> {
  const name = `node-${process.platform}-${process.arch}`;
  const folder = tempFolder();
  const flags = ["--prefix", folder, "--prefer-offline", "--no-audit", "--no-fund"];
  await promisify(execFile)("npm", ["install", ...flags, `${name}@${version}`]);
  return join(folder, "node_modules", name, "bin/node");
}
