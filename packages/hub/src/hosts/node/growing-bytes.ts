const MAX_SMALL_BYTES = 256 * 1024;
const GROWTH_BYTES = 256 * 1024;
const EMPTY = new Uint8Array(0);

/**
 * The bytes of a body that is still arriving, at most `maxSize`.
 *
 * Above 256 KiB, the bytes are in a resizable buffer: it takes memory only for the bytes that have
 * arrived, and `free` returns it to the operating system immediately. The memory of other buffers waits
 * for the garbage collector, which does not run in an idle process.
 */
export class GrowingBytes {
  size = 0;
  readonly #maxSize: number;
  #bytes: Uint8Array = EMPTY;
  #large: ArrayBuffer | undefined;

  constructor(maxSize: number) {
    this.#maxSize = maxSize;
  }

  append(chunk: Uint8Array): void {
    const total = this.size + chunk.byteLength;
    if (this.size === 0)
      this.#bytes = chunk; // most bodies arrive in one chunk, which is not copied
    else {
      if (total > this.#bytes.length) this.#bytes = this.#grow(total);
      this.#bytes.set(chunk, this.size);
    }
    this.size = total;
  }

  /** Returns the appended bytes. No more can be appended afterwards. */
  end(): Uint8Array {
    if (!this.#large)
      return this.#bytes.length === this.size ? this.#bytes : this.#bytes.subarray(0, this.size);
    // The result has a fixed length, since not every function accepts a resizable buffer.
    this.#large.resize(this.size);
    return Buffer.from(this.#large.transferToFixedLength());
  }

  free(): void {
    if (this.#large && !this.#large.detached) this.#large.transfer(0);
    this.#large = undefined;
    this.#bytes = EMPTY;
  }

  #grow(total: number): Uint8Array {
    const existing = this.#bytes.subarray(0, this.size);
    if (total <= MAX_SMALL_BYTES) {
      const grown = Buffer.allocUnsafeSlow(Math.min(2 * total, MAX_SMALL_BYTES, this.#maxSize));
      grown.set(existing);
      return grown;
    }
    const length = Math.min(total + GROWTH_BYTES, this.#maxSize);
    if (this.#large) {
      this.#large.resize(length);
      return new Uint8Array(this.#large);
    }
    this.#large = new ArrayBuffer(length, { maxByteLength: this.#maxSize });
    const grown = new Uint8Array(this.#large);
    grown.set(existing);
    return grown;
  }
}
