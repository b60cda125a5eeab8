/** Joins class names; false and undefined are left out. */
export const cx = (...names: (string | false | undefined | null)[]): string =>
  names.filter(Boolean).join(" ");
