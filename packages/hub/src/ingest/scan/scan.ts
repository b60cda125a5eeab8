/**
 * Bytes → the text of a JSON object with only the members that somebody reads, or what is wrong
 * with the bytes. The verdict is that of decode.ts. Parsing all of a payload takes several times as
 * long as scanning it and parsing what is left: nearly all of a webhook is addresses that nobody
 * asks for.
 */
import { scanModule } from "./scan-module.ts";

/** What is larger is rare, and would only make every scanner's memory larger: parse it instead. */
export const MAX_SCAN_BYTES = 1024 * 1024;

export type ScanProblem = "empty" | "utf8" | "json" | "not_an_object" | "too_deep";

export interface Scanner {
  /**
   * `text` holds all members of the outermost object and, in objects within it, those whose names
   * were given, whatever their values are. Arrays stay whole but for the objects in them. A name
   * that is written with an escape stays as well. `at` counts bytes.
   */
  scan(bytes: Uint8Array): { text: string } | { problem: ScanProblem; at: number };
}

/** TypeScript knows WebAssembly from the DOM only. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object;
  Instance: new (module: object) => { exports: object };
};

/** Of scanner.as.ts. */
interface Exports {
  memory: { buffer: ArrayBuffer };
  input(): number;
  output(): number;
  addName(length: number): number;
  scan(length: number): number;
  badAt(): number;
}

/** By the negative number that the module answers with, in scanner.as.ts. */
const problems = ["empty", "utf8", "json", "not_an_object", "too_deep"] as const;

const encoder = new TextEncoder();
const decoder = new TextDecoder();
let compiled: object | undefined;

/**
 * `keys` are the names on the way to everything that is read, not only the last ones: for
 * `issue.user.login`, `user` and `login`. Throws where the host lets nothing be compiled at run
 * time, as Cloudflare's does.
 */
export function createScanner(keys: readonly string[]): Scanner {
  compiled ??= new WebAssembly.Module(Uint8Array.from(atob(scanModule), (c) => c.charCodeAt(0)));
  const { memory, ...module } = new WebAssembly.Instance(compiled).exports as Exports;
  const heap = new Uint8Array(memory.buffer); // it never grows
  const input = module.input();
  const output = module.output();

  for (const key of keys) {
    const name = encoder.encode(key);
    heap.set(name, input);
    if (module.addName(name.byteLength) < 0)
      throw new RangeError(
        `The keys to scan for are too many or too long: ${keys.length} of them.`,
      );
  }

  return {
    scan(bytes) {
      const { byteLength } = bytes;
      if (byteLength === 0) return { problem: "empty", at: 0 };
      if (byteLength > MAX_SCAN_BYTES)
        throw new RangeError(`A scanner takes ${MAX_SCAN_BYTES} bytes at most, not ${byteLength}.`);
      heap.set(bytes, input);
      const length = module.scan(byteLength);
      return length < 0
        ? { problem: problems[-length] as ScanProblem, at: module.badAt() }
        : { text: decoder.decode(heap.subarray(output, output + length)) };
    },
  };
}
