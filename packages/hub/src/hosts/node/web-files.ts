/** The files of the built web UI, which the build puts beside the hub. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ReadWebFile } from "../../api/web-ui.ts";

const isSource = import.meta.url.endsWith(".ts");
const FOLDER = fileURLToPath(new URL(isSource ? "../../../dist/web" : "web", import.meta.url));

/** Names of Vite. No segment starts with a dot, so no path leaves the folder. */
const PATH = /^(?:\/[\w@-][\w@.-]*)+$/;

/** The build may also have written compressed files: `NAME.br` and `NAME.gz`. */
export const createReadWebFile =
  (folder = FOLDER): ReadWebFile =>
  async (path, accepts) => {
    if (!PATH.test(path)) return undefined;
    const file = join(folder, path);
    for (const [encoding, suffix] of [
      ["br", ".br"],
      ["gzip", ".gz"],
    ] as const) {
      const body = accepts(encoding) && (await readIfExists(`${file}${suffix}`));
      if (body) return { body, encoding };
    }
    const body = await readIfExists(file);
    return body && { body };
  };

async function readIfExists(file: string): Promise<Uint8Array<ArrayBuffer> | undefined> {
  try {
    return await readFile(file);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (["ENOENT", "ENOTDIR", "EISDIR"].includes(code)) return undefined;
    throw error;
  }
}
