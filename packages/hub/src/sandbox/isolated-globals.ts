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

function spendTime(size: number): void {
  // QuickJS interrupts the endless loop.
  if (size > MAX_FREE_SIZE && call("spendTime", size)) for (;;);
}

/** Replaces built-in functions, so that each call counts as the size of its input. */
function meter<Owner extends object>(
  owner: Owner,
  names: readonly (keyof Owner)[],
  sizeOf: (self: ArrayLike<unknown>, args: readonly unknown[]) => number,
): void {
  for (const name of names) {
    const builtIn = owner[name] as (...args: unknown[]) => unknown;
    const value = function (this: ArrayLike<unknown>, ...args: unknown[]): unknown {
      spendTime(sizeOf(this, args));
      return Reflect.apply(builtIn, this, args);
    };
    Object.defineProperty(owner, name, { value, writable: true, configurable: true });
  }
}

const sizeOfSelf = ({ length }: ArrayLike<unknown>): number => length;
const sizeOfArgument = (_: unknown, [argument]: readonly unknown[]): number =>
  (argument as ArrayLike<unknown> | null | undefined)?.length ?? 0;

meter(
  String.prototype,
  [
    ...(["includes", "indexOf", "lastIndexOf", "normalize", "replace", "replaceAll"] as const),
    ...(["slice", "split", "substr", "substring", "toLowerCase", "toUpperCase", "trim"] as const),
  ],
  sizeOfSelf,
);
meter(Array.prototype, ["concat", "indexOf", "join", "slice"], sizeOfSelf);
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
