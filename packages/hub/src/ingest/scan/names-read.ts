/**
 * The names, below the outermost object, that a function reads of a JSON object: the keys to scan
 * for. It runs on objects that have every member there is. First all of those are objects in turn,
 * so that the function finds nothing it wants and tries all of its places; then any of them may be
 * a scalar, for places that are tried only when something was found elsewhere.
 */
import type { Json, JsonObject } from "../source.ts";

const scalars = ["https://text", 1, true, null];

export function namesRead(read: (body: JsonObject) => unknown, runs = 300): string[] {
  const names = new Set<string>();
  const everything = (value: () => Json, isOutermost = false): JsonObject => {
    const members = new Map<string | symbol, Json>();
    const get = (_: object, name: string | symbol): Json => {
      if (!isOutermost && typeof name === "string") names.add(name);
      if (!members.has(name)) members.set(name, value());
      return members.get(name) as Json;
    };
    return new Proxy<JsonObject>(
      {},
      {
        get,
        has: () => true,
        getOwnPropertyDescriptor: (target, name) => ({
          configurable: true,
          enumerable: true,
          value: get(target, name),
        }),
      },
    );
  };

  const anObject = (): Json => everything(anObject);
  read(everything(anObject, true));

  let state = 1; // any numbers will do, as long as they are the same in every run
  const random = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return (state >>> 8) % below;
  };
  const anything = (): Json =>
    random(3) ? everything(anything) : (scalars[random(scalars.length)] as Json);
  for (let run = 0; run < runs; run += 1) read(everything(anything, true));
  return [...names].sort();
}
