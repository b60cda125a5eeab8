/**
 * A map that forgets its least recently written entries: a cache that strangers cannot grow. By what
 * they weigh together, where they are not alike.
 */
export class BoundedMap<Key, Value> {
  readonly #entries = new Map<Key, Value>();
  readonly #most: number;
  readonly #weigh: (value: Value) => number;
  #weight = 0;

  constructor(most: number, weigh: (value: Value) => number = () => 1) {
    this.#most = most;
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
    while (this.#weight > this.#most) this.delete(this.#entries.keys().next().value as Key);
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
