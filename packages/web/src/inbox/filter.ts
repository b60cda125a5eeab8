/** The filter of the inbox. It is in the query string of the URL, so that a view can be shared and saved. */
import type { QueryAt } from "../api/client.ts";

export const VIEWS = ["waiting", "all", "failed", "unmatched"] as const;
type View = (typeof VIEWS)[number];

const PERIODS = { "1h": 3_600_000, "24h": 86_400_000, "7d": 604_800_000 } as const;
export type Period = keyof typeof PERIODS;

export interface Filter {
  view: View;
  source?: string | undefined;
  type?: string | undefined;
  period?: Period | undefined;
  /** The time of the newest event to show. The link at the end of a list of maximum length sets it. */
  until?: string | undefined;
  text?: string | undefined;
}

const isView = (text: string | null): text is View => VIEWS.some((view) => view === text);

export function readFilter(search: string): Filter {
  const params = new URLSearchParams(search);
  const text = (name: string) => params.get(name)?.trim() || undefined;
  const view = params.get("view");
  const period = text("period");
  return {
    view: isView(view) ? view : "waiting",
    source: text("source"),
    type: text("type"),
    period: period && Object.hasOwn(PERIODS, period) ? (period as Period) : undefined,
    until: text("until"),
    text: text("q"),
  };
}

/** Returns the query string of the URL, which is empty for the default view. */
export function writeFilter({ view, source, type, period, until, text }: Filter): string {
  const params = new URLSearchParams();
  const values = {
    view: view === "waiting" ? undefined : view,
    source,
    type,
    period,
    until,
    q: text,
  };
  for (const [name, value] of Object.entries(values)) if (value) params.set(name, value);
  const search = params.toString();
  return search ? `?${search}` : "";
}

const MINUTE_MS = 60_000;

export function toListQuery(
  { view, source, type, period, until, text }: Filter,
  now: number,
): QueryAt<"/api/events"> {
  // Rounded, so that the requests for the pages of a list mostly have the same start.
  const since = period && Math.floor((now - PERIODS[period]) / MINUTE_MS) * MINUTE_MS;
  return {
    source,
    type,
    text,
    until,
    since: since === undefined ? undefined : new Date(since).toISOString(),
    pending: view === "waiting" ? "1" : undefined,
    outcome: view === "failed" || view === "unmatched" ? view : undefined,
  };
}

/** If false, an empty list means that no event is waiting, or that no event is stored. */
export const isNarrowed = ({ view, source, type, period, until, text }: Filter): boolean =>
  view === "failed" || view === "unmatched" || Boolean(source || type || period || until || text);
