/** Reads the files of the web UI, which the build writes into a folder of the hub. */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ReadWebFile } from "../../web-ui/web-ui.ts";

const isSource = import.meta.url.endsWith(".ts");
const FOLDER = fileURLToPath(new URL(isSource ? "../../../dist/web" : "web", import.meta.url));

/** Matches the file names of Vite. No segment starts with a dot, so no path leaves the folder. */
const PATH = /^(?:\/[\w@-][\w@.-]*)+$/;

type Bytes = Uint8Array<ArrayBuffer>;

/** Prefers the compressed files that the build may have written: `NAME.br` and `NAME.gz`. */
export function createReadWebFile(folder = FOLDER): ReadWebFile {
  const readShared = createSharedReads();
  return async (path, accepts) => {
    if (!PATH.test(path)) return undefined;
    const file = join(folder, path);
    const read = path.startsWith("/assets/") ? readShared : readIfExists;
    for (const [encoding, suffix] of [
      ["br", ".br"],
      ["gzip", ".gz"],
    ] as const) {
      const body = accepts(encoding) && (await read(`${file}${suffix}`));
      if (body) return { body, encoding };
    }
    const body = await read(file);
    return body && { body };
  };
}

/**
 * Concurrent responses share the bytes of a file that never changes: many clients that read slowly
 * then need no more memory than one. Bytes that no response uses are garbage-collected.
 */
function createSharedReads(): (file: string) => Promise<Bytes | undefined> {
  const reading = new Map<string, Promise<Bytes | undefined>>();
  const inUse = new Map<string, WeakRef<Bytes>>();
  const read = async (file: string) => {
    try {
      const bytes = await readIfExists(file);
      if (bytes) inUse.set(file, new WeakRef(bytes));
      return bytes;
    } finally {
      reading.delete(file);
    }
  };
  return async (file) => {
    const bytes = inUse.get(file)?.deref();
    if (bytes) return bytes;
    const pending = reading.get(file) ?? read(file);
    reading.set(file, pending);
    return pending;
  };
}

async function readIfExists(file: string): Promise<Bytes | undefined> {
  try {
    return await readFile(file);
  } catch (error) {
    const { code = "" } = error as NodeJS.ErrnoException;
    if (["ENOENT", "ENOTDIR", "EISDIR", "ENAMETOOLONG"].includes(code)) return undefined;
    throw error;
  }
}
