/**
 * A cache of bounded size: it evicts the least recently written entries. With `weigh`, the limit
 * applies to the total weight of the values instead of their number.
 */
export class BoundedMap<Key, Value> {
  readonly #entries = new Map<Key, Value>();
  readonly #limit: number;
  readonly #weigh: (value: Value) => number;
  #weight = 0;

  constructor(limit: number, weigh: (value: Value) => number = () => 1) {
    this.#limit = limit;
    this.#weigh = weigh;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: Key): Value | undefined {
    return this.#entries.get(key);
  }

  set(key: Key, value: Value): void {
    this.delete(key);
    this.#entries.set(key, value);
    this.#weight += this.#weigh(value);
    while (this.#weight > this.#limit) this.delete(this.#entries.keys().next().value as Key);
  }

  delete(key: Key): void {
    const value = this.#entries.get(key);
    if (this.#entries.delete(key)) this.#weight -= this.#weigh(value as Value);
  }

  clear(): void {
    this.#entries.clear();
    this.#weight = 0;
  }
}
