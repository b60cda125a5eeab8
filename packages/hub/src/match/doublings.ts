/**
 * JSONata's parser copies what stands to the left of `??` and `?:`. Within brackets that stand to the
 * left of another one it does so again: each further level takes it twice as long, and a line of
 * text could keep it busy for hours. Counts the levels, from the text alone.
 */
export function doublingsIn(text: string): number {
  const levels = [{ within: 0, copies: false }];
  for (const [token] of text.matchAll(TOKENS)) {
    const level = levels.at(-1) as (typeof levels)[number];
    if ("([{".includes(token)) levels.push({ within: 0, copies: false });
    else if (token === "??" || token === "?:") level.copies = true;
    else if (")]}".includes(token) && levels.length > 1) close(levels);
  }
  while (levels.length > 1) close(levels);
  return depthOf(levels[0]);
}

type Level = { within: number; copies: boolean };

/** Texts, names in backticks and comments are passed over, also where they have no end. */
const TOKENS =
  /"(?:[^"\\]|\\[\s\S])*"?|'(?:[^'\\]|\\[\s\S])*'?|`[^`]*`?|\/\*(?:[^*]|\*(?!\/))*|\?\?|\?:|[()[\]{}]/g;

const depthOf = ({ within, copies }: Level = { within: 0, copies: false }): number =>
  within + (copies ? 1 : 0);

function close(levels: Level[]): void {
  const closed = depthOf(levels.pop());
  const outer = levels.at(-1) as Level;
  outer.within = Math.max(outer.within, closed);
}
