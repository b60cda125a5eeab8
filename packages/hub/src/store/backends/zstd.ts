import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { type Codec, FULL_BYTES } from "../packs.ts";

/** The fastest levels: a tenth of the size at a fraction of what writing the rest would cost. */
const params = {
  [constants.ZSTD_c_compressionLevel]: -3,
  // Tables that fit into the innermost cache: they are made anew, and zeroed, for every pack.
  [constants.ZSTD_c_hashLog]: 13,
  // What is alike in webhooks is alike at length; looking for less finds little and takes time.
  [constants.ZSTD_c_minMatch]: 7,
};

/** Nearly every pack comes out as one chunk, and no memory is asked for that stays empty. */
const CHUNK_BYTES = 32 * 1024;

export const zstd: Codec = {
  name: "zstd",
  encode: (bytes) =>
    zstdCompressSync(bytes, { params, pledgedSrcSize: bytes.byteLength, chunkSize: CHUNK_BYTES }),
  decode(bytes) {
    // With room for all of a pack at once, zstd works straight into the memory that is answered with.
    const { buffer, byteOffset, byteLength } = zstdDecompressSync(bytes, { chunkSize: FULL_BYTES });
    const decoded = new Uint8Array(buffer, byteOffset, byteLength); // not a Buffer: its slices are no copies
    // A small pack would hold on to all of that room.
    return byteLength < FULL_BYTES / 2 ? decoded.slice() : decoded;
  },
};
