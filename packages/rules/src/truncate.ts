/** Truncates to `max` UTF-16 code units, including the ellipsis, without splitting a surrogate pair. */
export const truncate = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
