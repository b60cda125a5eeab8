import type { EventRow } from "../model.ts";

export type Narrowing = Partial<
  Record<"repo" | "action" | "sender", string | undefined> & { number: number | undefined }
>;

export interface EventFilter {
  source: string;
  type: string;
  narrowing: Narrowing;
}

export const eventName = ({ source, type }: Pick<EventRow, "source" | "type">): string =>
  `${source}.${type}`;

/** Undefined if the name has no dot. Types may contain dots, names of sources do not. */
export function toEventFilter(name: string, narrowing: Narrowing): EventFilter | undefined {
  const [, source, type] = /^([^.]+)\.(.+)$/s.exec(name) ?? [];
  return source === undefined || type === undefined ? undefined : { source, type, narrowing };
}

export const matchesFilter = (event: EventRow, { source, type, narrowing }: EventFilter): boolean =>
  event.type === type &&
  event.source === source &&
  (narrowing.repo === undefined || event.repo === narrowing.repo) &&
  (narrowing.action === undefined || event.action === narrowing.action) &&
  (narrowing.sender === undefined || event.sender === narrowing.sender) &&
  (narrowing.number === undefined || event.number === narrowing.number);
