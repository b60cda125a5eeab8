/** The bytes of a body that is still arriving. */
export interface GrowingBytes {
  readonly size: number;
  append(chunk: Uint8Array): void;
  /** The bytes that were appended. No more can be appended afterwards. */
  end(): Uint8Array;
  free(): void;
}

const SMALL = 256 * 1024;
const STEP = 256 * 1024;
const EMPTY = new Uint8Array(0);

/**
 * Above 256 KiB, the bytes are in a resizable buffer: it takes memory only for the bytes that have
 * arrived, and `free` returns it to the operating system immediately. The memory of other buffers waits
 * for the garbage collector, which does not run in an idle process. `maxSize` must not be exceeded.
 */
export function createGrowingBytes(maxSize: number): GrowingBytes {
  let bytes: Uint8Array = EMPTY;
  let large: ArrayBuffer | undefined;
  let size = 0;

  function grow(total: number): Uint8Array {
    const known = bytes.subarray(0, size);
    if (total <= SMALL) {
      const grown = Buffer.allocUnsafeSlow(Math.min(2 * total, SMALL, maxSize));
      grown.set(known);
      return grown;
    }
    const length = Math.min(total + STEP, maxSize);
    if (large) {
      large.resize(length);
      return new Uint8Array(large);
    }
    large = new ArrayBuffer(length, { maxByteLength: maxSize });
    const grown = new Uint8Array(large);
    grown.set(known);
    return grown;
  }

  return {
    get size() {
      return size;
    },
    append(chunk) {
      const total = size + chunk.byteLength;
      if (size === 0)
        bytes = chunk; // most bodies arrive in one chunk, which is not copied
      else {
        if (total > bytes.length) bytes = grow(total);
        bytes.set(chunk, size);
      }
      size = total;
    },
    end() {
      if (!large) return bytes.subarray(0, size);
      // Not every function accepts a resizable buffer.
      large.resize(size);
      return Buffer.from(large.transferToFixedLength());
    },
    free() {
      if (large && !large.detached) large.transfer(0);
      large = undefined;
      bytes = EMPTY;
    },
  };
}
