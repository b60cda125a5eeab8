export interface Codec {
  name: string;
  /** The result shares no memory with the argument. */
  encode(bytes: Uint8Array): Uint8Array;
  /** Encodes a large payload in another thread. */
  encodeLarge(bytes: Uint8Array): Promise<Uint8Array>;
  /** `maxSize` is the size of the output buffer: the result has at most so many bytes. */
  decode(bytes: Uint8Array, maxSize: number): Uint8Array;
  /** Decodes a large payload in another thread. */
  decodeLarge(bytes: Uint8Array, maxSize: number): Promise<Uint8Array>;
}
