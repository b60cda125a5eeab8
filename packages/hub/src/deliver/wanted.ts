/** Which events somebody wants: one type of one source, narrowed by what the summary says. */
import type { EventRow } from "../store/store.ts";

export type Narrowing = Partial<
  Record<"repo" | "action" | "sender", string | undefined> & { number: number | undefined }
>;

export interface Wanted {
  source: string;
  type: string;
  narrowing: Narrowing;
}

export const nameOf = ({ source, type }: Pick<EventRow, "source" | "type">): string =>
  `${source}.${type}`;

/** Undefined where the name has no two parts. Types may hold dots, names of sources do not. */
export function toWanted(name: string, narrowing: Narrowing): Wanted | undefined {
  const [, source, type] = /^([^.]+)\.(.+)$/s.exec(name) ?? [];
  return source === undefined || type === undefined ? undefined : { source, type, narrowing };
}

export const isWanted = (event: EventRow, { source, type, narrowing }: Wanted): boolean =>
  event.type === type &&
  event.source === source &&
  (narrowing.repo === undefined || event.repo === narrowing.repo) &&
  (narrowing.action === undefined || event.action === narrowing.action) &&
  (narrowing.sender === undefined || event.sender === narrowing.sender) &&
  (narrowing.number === undefined || event.number === narrowing.number);
