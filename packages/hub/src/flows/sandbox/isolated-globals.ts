/**
 * Prepares the globals of QuickJS for the libraries of authors' programs: adds those that QuickJS does not
 * have, and limits the time of built-in functions. The host provides the function `native`.
 */
import type { Natives } from "./run-isolated.ts";

/** The arguments and the result are JSON. */
declare const native: (name: keyof Natives, args: string) => string;

const call = <Name extends keyof Natives>(
  name: Name,
  ...args: Parameters<Natives[Name]>
): ReturnType<Natives[Name]> => JSON.parse(native(name, JSON.stringify(args)));

/** Smaller texts and lists do not count: most calls are for these. */
const MAX_FREE_SIZE = 10_000;

export function spendTime(size: number): void {
  // QuickJS interrupts the endless loop.
  if (size > MAX_FREE_SIZE && call("spendTime", size)) for (;;);
}

/** Replaces built-in functions, so that each call counts as the size of its input. */
function meter<Owner extends object>(
  owner: Owner,
  names: readonly (keyof Owner)[],
  sizeOf: (self: ArrayLike<unknown>, args: readonly unknown[]) => number,
): void {
  replace(owner, names, (self, args, run) => {
    spendTime(sizeOf(self, args));
    return run();
  });
}

function replace<Owner extends object>(
  owner: Owner,
  names: readonly (keyof Owner)[],
  call: (self: ArrayLike<unknown>, args: readonly unknown[], run: () => unknown) => unknown,
): void {
  for (const name of names) {
    const builtIn = owner[name] as (...args: unknown[]) => unknown;
    const value = function (this: ArrayLike<unknown>, ...args: unknown[]): unknown {
      return call(this, args, () => Reflect.apply(builtIn, this, args));
    };
    Object.defineProperty(owner, name, { value, writable: true, configurable: true });
  }
}

const sizeOfSelf = ({ length }: ArrayLike<unknown>): number => length;
const sizeOfArgument = (_: unknown, [argument]: readonly unknown[]): number =>
  (argument as ArrayLike<unknown> | null | undefined)?.length ?? 0;

meter(
  String.prototype,
  ["normalize", "toLowerCase", "toUpperCase", "trim", "replaceAll"],
  sizeOfSelf,
);
/** QuickJS compares a long needle at each position. A short one rarely matches in part. */
const NEEDLE_SIZE_PER_STEP = 10;
const sizeOfSearch = (length: number, needle: unknown): number =>
  length * Math.max(1, (typeof needle === "string" ? needle.length : 0) / NEEDLE_SIZE_PER_STEP);
meter(String.prototype, ["includes", "lastIndexOf", "replace", "split"], (self, [needle]) =>
  sizeOfSearch(self.length, needle),
);
replace(String.prototype, ["indexOf"], ({ length }, [needle, position], run) => {
  // JSONata searches a text for each match from the end of the one before.
  const start = Number(position ?? 0);
  if (String(needle).length > NEEDLE_SIZE_PER_STEP) {
    spendTime(sizeOfSearch(length - start, needle));
    return run();
  }
  const index = run() as number;
  spendTime((index === -1 ? length : index) - start);
  return index;
});
const replaceBySizeOfResult = <Owner extends object>(
  owner: Owner,
  names: readonly (keyof Owner)[],
): void =>
  replace(owner, names, (_self, _args, run) => {
    const result = run() as ArrayLike<unknown>;
    spendTime(result.length);
    return result;
  });
replaceBySizeOfResult(String.prototype, ["slice", "substr", "substring"]);
replaceBySizeOfResult(Array.prototype, ["slice"]);
meter(Array.prototype, ["concat", "indexOf", "join"], sizeOfSelf);
meter(Array, ["from"], sizeOfArgument);
meter(JSON, ["parse"], sizeOfArgument);
meter(
  globalThis,
  ["decodeURI", "decodeURIComponent", "encodeURI", "encodeURIComponent"],
  sizeOfArgument,
);
const { stringify } = JSON;
JSON.stringify = (...args: unknown[]): string => {
  const text = Reflect.apply(stringify, JSON, args) as string | undefined;
  spendTime(text?.length ?? 0);
  return text as string;
};

class IsolatedUrl {
  href: string;
  #hash: string;
  constructor(reference: string, base?: string) {
    const { href, hash } = call("resolveUrl", reference, base ?? null, null);
    this.href = href;
    this.#hash = hash;
  }
  get hash(): string {
    return this.#hash;
  }
  set hash(hash: string) {
    const resolved = call("resolveUrl", this.href, null, hash);
    this.href = resolved.href;
    this.#hash = resolved.hash;
  }
  toString(): string {
    return this.href;
  }
}

Object.assign(globalThis, {
  URL: IsolatedUrl,
  // JSONata reads these functions from `window`.
  window: {
    btoa: (text: string) => call("btoa", text),
    atob: (text: string) => call("atob", text),
  },
});
