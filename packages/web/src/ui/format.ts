/** Formats times, durations, sizes and counts. */
const twoDigits = (value: number) => String(value).padStart(2, "0");

/** `16:46:50`, in the time zone of the browser. */
export function clock(iso: string): string {
  const date = new Date(iso);
  return [date.getHours(), date.getMinutes(), date.getSeconds()].map(twoDigits).join(":");
}

/** `16:46:50.462` */
export const clockMs = (iso: string): string =>
  `${clock(iso)}.${String(new Date(iso).getMilliseconds()).padStart(3, "0")}`;

const DAY_MS = 86_400_000;
const startOfDay = (date: Date) => new Date(date.getFullYear(), date.getMonth(), date.getDate());

/** A key that is the same for all times of one day. */
export const dayKey = (iso: string): string => startOfDay(new Date(iso)).toDateString();

/** `Sunday 15 November`, or `Friday 14 November 2025` if the year is not the current one. */
export function dateInText(iso: string, now: Date = new Date()): string {
  const date = new Date(iso);
  const formatted = date.toLocaleDateString("en-GB", {
    weekday: "long",
    day: "numeric",
    month: "long",
    ...(date.getFullYear() !== now.getFullYear() && { year: "numeric" }),
  });
  return formatted.replace(",", "");
}

/** Like `dateInText`, but `Today, Sunday 15 November` for today, and likewise for yesterday. */
export function day(iso: string, now: Date = new Date()): string {
  const startOfIso = startOfDay(new Date(iso));
  const daysAgo = Math.round((startOfDay(now).getTime() - startOfIso.getTime()) / DAY_MS);
  const date = dateInText(iso, now);
  if (daysAgo === 0) return `Today, ${date}`;
  return daysAgo === 1 ? `Yesterday, ${date}` : date;
}

/** `15 Nov`, or `15 Nov 2025` in another year; empty for today. */
export function dayMark(iso: string, now: Date = new Date()): string {
  const date = new Date(iso);
  if (dayKey(iso) === startOfDay(now).toDateString()) return "";
  return date.toLocaleDateString("en-GB", {
    day: "numeric",
    month: "short",
    ...(date.getFullYear() !== now.getFullYear() && { year: "numeric" }),
  });
}

/** `212 ms`, `1.6 s`, `38 s`, `2 min 5 s`, `3 h 10 min`, `2 d` */
export function duration(ms: number): string {
  if (ms < 999.5) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 10_000) return `${(Math.floor(ms / 100) / 10).toFixed(1)} s`;
  const seconds = Math.floor(ms / 1_000);
  if (seconds < 60) return `${seconds} s`;
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return joinUnits(minutes, "min", seconds % 60, "s");
  const hours = Math.floor(minutes / 60);
  if (hours < 24) return joinUnits(hours, "h", minutes % 60, "min");
  return joinUnits(Math.floor(hours / 24), "d", hours % 24, "h");
}

const joinUnits = (big: number, bigUnit: string, small: number, smallUnit: string) =>
  small === 0 ? `${big} ${bigUnit}` : `${big} ${bigUnit} ${small} ${smallUnit}`;

/** `just now`, `4 min ago`, `2 d ago` */
export function ago(iso: string, now: number = Date.now()): string {
  const ms = now - Date.parse(iso);
  if (ms < 10_000) return "just now";
  // Only the larger unit of the duration.
  const [value = "", unit = ""] = duration(ms).split(" ");
  return `${value} ${unit} ago`;
}

/** `834 B`, `1.2 KB`, `2.0 MB` */
export function bytes(size: number): string {
  if (size < 1_000) return `${size} B`;
  if (size < 1_000_000) return `${(size / 1_000).toFixed(1)} KB`;
  if (size < 1_000_000_000) return `${(size / 1_000_000).toFixed(1)} MB`;
  return `${(size / 1_000_000_000).toFixed(1)} GB`;
}

export const count = (value: number): string => value.toLocaleString("en");

/** `1,904`, or `more than 1,000` if the hub counts no further. */
export const countOrMore = (value: number, isMore: boolean): string =>
  isMore ? `more than ${count(value)}` : count(value);

/** `1 event`, `1,904 events` */
export const plural = (value: number, one: string, many = `${one}s`): string =>
  `${count(value)} ${value === 1 ? one : many}`;
