/** Cuts a text to at most `max` characters, the last of which is then an ellipsis. */
export const shorten = (text: string, max: number): string =>
  text.length <= max ? text : `${text.slice(0, max - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
