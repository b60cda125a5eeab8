/** Joins class names. Values such as `false` and `undefined` are skipped. */
export const cx = (...names: (string | false | undefined | null)[]): string =>
  names.filter(Boolean).join(" ");
