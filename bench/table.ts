import type { Spread } from "./statistics.ts";

/** Aligns columns: the first to the left, the others to the right. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, at) =>
    Math.max(title.length, ...rows.map((row) => (row[at] ?? "").length)),
  );
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, at) => (at === 0 ? cell.padEnd(widths[at] ?? 0) : cell.padStart(widths[at] ?? 0)))
      .join("  ")
      .trimEnd();
  return [line(head), line(widths.map((width) => "─".repeat(width))), ...rows.map(line)].join("\n");
}

/** Formats an integer in full, another number with about three significant digits. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return "–";
  if (Math.abs(value) >= 100 || Number.isInteger(value))
    return Math.round(value).toLocaleString("en");
  return value.toFixed(Math.abs(value) >= 10 ? 1 : 2);
}

export const percent = (share: number): string =>
  Number.isFinite(share) ? `${(share * 100).toFixed(share < 0.1 ? 1 : 0)} %` : "–";

export const times = (ratio: number): string =>
  Number.isFinite(ratio) ? `${figure(ratio)}×` : "–";

export const range = ({ min, max }: Spread): string => `${figure(min)}–${figure(max)}`;

export const megabytes = (bytes: number): string => `${figure(bytes / 2 ** 20)} MB`;
