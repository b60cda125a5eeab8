/** Finds text in the names and values of JSON, in steps: a large value must not block the page. */
import type { Json } from "@signalbox/rules/json.ts";
import type { Keys } from "./path.ts";

/** More hits than a person looks through. */
const MAX_HITS = 1_000;

export interface Found {
  hits: readonly Keys[];
  /** Whether there are more. */
  isCut: boolean;
}

/** A container whose parts are being visited. */
interface Frame {
  value: Record<string | number, Json>;
  /** Undefined for an array. */
  names: string[] | undefined;
  size: number;
  /** The next part. */
  at: number;
}

const keyAt = ({ names, at }: Frame): string | number => (names ? (names[at] as string) : at);

function frameOf(value: Json): Frame | undefined {
  if (typeof value !== "object" || value === null) return undefined;
  const names = Array.isArray(value) ? undefined : Object.keys(value);
  const size = names?.length ?? (value as Json[]).length;
  return { value: value as Frame["value"], names, size, at: 0 };
}

export function startSearch(root: Json, text: string) {
  const wanted = text.toLowerCase();
  const holds = (text: string) => text.toLowerCase().includes(wanted);
  const hits: Keys[] = [];
  let isCut = false;
  const first = frameOf(root);
  const stack = first ? [first] : [];
  if (!first && holds(String(root))) hits.push([]);

  const visit = (frame: Frame): void => {
    const key = keyAt(frame);
    const value = frame.value[key] as Json;
    const inner = frameOf(value);
    if ((frame.names && holds(key as string)) || (!inner && holds(String(value)))) {
      if (hits.length === MAX_HITS) {
        isCut = true;
        stack.length = 0;
        return;
      }
      hits.push(stack.map(keyAt));
    }
    if (inner) stack.push(inner);
    else frame.at += 1;
  };

  return {
    /** Visits up to so many parts; returns whether there are no more. */
    step(parts: number): boolean {
      for (let nth = 0; nth < parts; nth += 1) {
        const frame = stack.at(-1);
        if (!frame) return true;
        if (frame.at < frame.size) visit(frame);
        else {
          stack.pop();
          const parent = stack.at(-1);
          if (parent) parent.at += 1;
        }
      }
      return stack.length === 0;
    },
    found: (): Found => ({ hits, isCut }),
  };
}
