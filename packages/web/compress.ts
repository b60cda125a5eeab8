/** Writes compressed copies of the files beside them, which the hub prefers to serve. */
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import type { Plugin } from "vite";

const COMPRESSED = /\.(js|css|svg)$/;
const SMALLEST = 1_000;

export const compress = (): Plugin => ({
  name: "compress",
  apply: "build",
  async writeBundle({ dir = "dist" }) {
    const files = await readdir(dir, { recursive: true });
    for (const file of files.filter((name) => COMPRESSED.test(name))) {
      const path = join(dir, file);
      const bytes = await readFile(path);
      if (bytes.length < SMALLEST) continue;
      const best = { params: { [constants.BROTLI_PARAM_QUALITY]: 10 } };
      await writeFile(`${path}.br`, await promisify(brotliCompress)(bytes, best));
      await writeFile(`${path}.gz`, await promisify(gzip)(bytes));
    }
  },
});
