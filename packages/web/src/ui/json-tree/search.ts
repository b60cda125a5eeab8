/** Finds text in the names and values of JSON. It works in steps, so that a large value does not block the page. */
import type { Json } from "@signalbox/rules/json.ts";
import type { Keys } from "./path.ts";

/** The search stops at this number of hits, because a user does not look through more. */
const MAX_HITS = 1_000;

export interface SearchResult {
  hits: readonly Keys[];
  /** Whether there are more hits than `MAX_HITS`. */
  isTruncated: boolean;
}

/** An object or an array whose children are being visited. */
interface Frame {
  value: Record<string | number, Json>;
  /** Undefined for an array. */
  names: string[] | undefined;
  size: number;
  /** The position of the next child. */
  position: number;
}

const nextKey = ({ names, position }: Frame): string | number =>
  names ? (names[position] as string) : position;

function createFrame(value: Json): Frame | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const names = Array.isArray(value) ? undefined : Object.keys(value);
  const size = names?.length ?? (value as Json[]).length;
  return { value: value as Frame["value"], names, size, position: 0 };
}

export function startSearch(root: Json, text: string) {
  const searched = text.toLowerCase();
  const isHit = (text: string) => text.toLowerCase().includes(searched);
  const hits: Keys[] = [];
  let isTruncated = false;
  const rootFrame = createFrame(root);
  const stack = rootFrame ? [rootFrame] : [];
  if (!rootFrame && isHit(String(root))) hits.push([]);

  const visit = (frame: Frame): void => {
    const key = nextKey(frame);
    const value = frame.value[key] as Json;
    const childFrame = createFrame(value);
    if ((frame.names && isHit(key as string)) || (!childFrame && isHit(String(value)))) {
      if (hits.length === MAX_HITS) {
        isTruncated = true;
        stack.length = 0;
        return;
      }
      hits.push(stack.map(nextKey));
    }
    if (childFrame) stack.push(childFrame);
    else frame.position += 1;
  };

  return {
    /** Makes up to `count` steps, one for each value. Returns true if the search is complete. */
    step(count: number): boolean {
      for (let steps = 0; steps < count; steps += 1) {
        const frame = stack.at(-1);
        if (!frame) return true;
        if (frame.position < frame.size) visit(frame);
        else {
          stack.pop();
          const parent = stack.at(-1);
          if (parent) parent.position += 1;
        }
      }
      return stack.length === 0;
    },
    result: (): SearchResult => ({ hits, isTruncated }),
  };
}
