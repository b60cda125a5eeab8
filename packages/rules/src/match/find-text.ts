/**
 * Where a text occurs in another. The engine's own search takes the product of the two lengths
 * where somebody means it to; from a certain length on this one does not.
 */
export function findText(text: string, wanted: string, from = 0): number {
  if (wanted.length <= SHORT || text.length - from < wanted.length)
    return text.indexOf(wanted, from);
  const borders = bordersOf(wanted);
  let fits = 0;
  for (let at = from; at < text.length; at++) {
    const letter = text.charCodeAt(at);
    while (fits > 0 && wanted.charCodeAt(fits) !== letter) fits = borders[fits - 1] as number;
    if (wanted.charCodeAt(fits) === letter) fits += 1;
    if (fits === wanted.length) return at + 1 - fits;
  }
  return -1;
}

export const includesText = (text: string, wanted: string): boolean => findText(text, wanted) >= 0;

/** At most `most` pieces; the rest of the text is left out, as `split` does. */
export function splitText(text: string, by: string, most = ALL): string[] {
  if (by.length <= SHORT) return text.split(by, most);
  const pieces: string[] = [];
  let from = 0;
  for (
    let at = findText(text, by);
    at >= 0 && pieces.length < most;
    at = findText(text, by, from)
  ) {
    pieces.push(text.slice(from, at));
    from = at + by.length;
  }
  if (pieces.length < most) pieces.push(text.slice(from));
  return pieces;
}

/** The most that `split` can be told. */
const ALL = 2 ** 32 - 1;

/** Up to here the product is a small one. */
const SHORT = 64;

/** Knuth, Morris and Pratt: how much of each beginning is both its beginning and its end. */
function bordersOf(wanted: string): Uint32Array {
  const borders = new Uint32Array(wanted.length);
  let fits = 0;
  for (let at = 1; at < wanted.length; at++) {
    const letter = wanted.charCodeAt(at);
    while (fits > 0 && wanted.charCodeAt(fits) !== letter) fits = borders[fits - 1] as number;
    if (wanted.charCodeAt(fits) === letter) fits += 1;
    borders[at] = fits;
  }
  return borders;
}
