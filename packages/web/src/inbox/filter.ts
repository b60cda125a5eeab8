/** What the inbox shows. It is part of the address, so that a view can be shared, saved and reopened. */
import type { Query } from "../api/client.ts";

export const VIEWS = ["waiting", "all", "failed", "unmatched"] as const;
type View = (typeof VIEWS)[number];

const PERIODS = { "1h": 3_600_000, "24h": 86_400_000, "7d": 604_800_000 } as const;
export type Period = keyof typeof PERIODS;

export interface Filter {
  view: View;
  source?: string | undefined;
  type?: string | undefined;
  period?: Period | undefined;
  /** Only events until this time; set to continue where a long list ends. */
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

/** The default view has an empty search. */
export function writeFilter({ view, source, type, period, until, text }: Filter): string {
  const params = new URLSearchParams();
  const parts = {
    view: view === "waiting" ? undefined : view,
    source,
    type,
    period,
    until,
    q: text,
  };
  for (const [name, value] of Object.entries(parts)) if (value) params.set(name, value);
  const search = params.toString();
  return search ? `?${search}` : "";
}

/** Whole minutes, so that the same list keeps its key for a while. */
const MINUTE_MS = 60_000;

export function toListQuery(
  { view, source, type, period, until, text }: Filter,
  now: number,
): Query {
  const since = period && Math.floor((now - PERIODS[period]) / MINUTE_MS) * MINUTE_MS;
  return {
    source,
    type,
    text,
    until,
    since: since && new Date(since).toISOString(),
    pending: view === "waiting" ? "1" : undefined,
    outcome: view === "failed" || view === "unmatched" ? view : undefined,
  };
}

export const isNarrowed = ({ view, source, type, period, until, text }: Filter): boolean =>
  view === "failed" || view === "unmatched" || Boolean(source || type || period || until || text);
