import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import type { Codec } from "../packs.ts";

/** The fastest levels: a tenth of the size at a fraction of what writing the rest would cost. */
const LEVEL = -3;

export const zstd: Codec = {
  name: "zstd",
  encode: (bytes) =>
    zstdCompressSync(bytes, { params: { [constants.ZSTD_c_compressionLevel]: LEVEL } }),
  decode(bytes) {
    const { buffer, byteOffset, byteLength } = zstdDecompressSync(bytes);
    return new Uint8Array(buffer, byteOffset, byteLength); // not a Buffer: its slices are no copies
  },
};
