import { promisify } from "node:util";
import {
  constants,
  type ZstdOptions,
  zstdCompress,
  zstdCompressSync,
  zstdDecompress,
  zstdDecompressSync,
} from "node:zlib";
import { FULL_BYTES } from "../store/packs.ts";
import type { Codec } from "../store/sql.ts";

/**
 * A fast level: a pack shrinks to a tenth, in much less time than it takes to write the uncompressed
 * bytes.
 */
const params = {
  [constants.ZSTD_c_compressionLevel]: -3,
  // A hash table that fits into the L1 cache: it is zeroed for every pack.
  [constants.ZSTD_c_hashLog]: 13,
  // Webhooks repeat long strings; searching for short matches takes time and saves little.
  [constants.ZSTD_c_minMatch]: 7,
};

/** Nearly every compressed pack fits into one chunk of this size. */
const CHUNK_BYTES = 32 * 1024;

/** A better level: compression runs in another thread, and the commit has fewer bytes to write. */
const largeParams = { [constants.ZSTD_c_compressionLevel]: 1 };
const compress = promisify<Uint8Array, ZstdOptions, Uint8Array>(zstdCompress);
const decompress = promisify<Uint8Array, ZstdOptions, Uint8Array>(zstdDecompress);
/** Returns a Uint8Array, because `slice` of a Buffer does not copy. */
const toUint8Array = ({ buffer, byteOffset, byteLength }: Uint8Array) =>
  new Uint8Array(buffer, byteOffset, byteLength);

export const zstd: Codec = {
  name: "zstd",
  encode: (bytes) =>
    zstdCompressSync(bytes, { params, pledgedSrcSize: bytes.byteLength, chunkSize: CHUNK_BYTES }),
  encodeLarge: (bytes) =>
    compress(bytes, { params: largeParams, pledgedSrcSize: bytes.byteLength }),
  decode(bytes, maxSize) {
    // With a chunk for the whole pack, zstd decompresses directly into the returned buffer.
    const decoded = toUint8Array(zstdDecompressSync(bytes, { chunkSize: maxSize }));
    // A copy, so that a small pack does not keep the whole chunk in memory.
    return decoded.byteLength < FULL_BYTES / 2 ? decoded.slice() : decoded;
  },
  decodeLarge: async (bytes, maxSize) =>
    toUint8Array(await decompress(bytes, { chunkSize: maxSize })),
};
