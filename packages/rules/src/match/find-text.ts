/**
 * Like `text.indexOf(wanted, from)`, but in linear time. The native search can take time proportional
 * to the product of both lengths, so it is used only if `wanted` is short.
 */
export function findText(text: string, wanted: string, from = 0): number {
  if (wanted.length <= MAX_NATIVE_LENGTH || text.length - from < wanted.length)
    return text.indexOf(wanted, from);
  const borders = borderLengths(wanted);
  let matchedLength = 0;
  for (let at = from; at < text.length; at++) {
    const character = text.charCodeAt(at);
    while (matchedLength > 0 && wanted.charCodeAt(matchedLength) !== character)
      matchedLength = borders[matchedLength - 1] as number;
    if (wanted.charCodeAt(matchedLength) === character) matchedLength += 1;
    if (matchedLength === wanted.length) return at + 1 - matchedLength;
  }
  return -1;
}

export const includesText = (text: string, wanted: string): boolean => findText(text, wanted) >= 0;

const MAX_NATIVE_LENGTH = 64;

/**
 * The failure function of Knuth–Morris–Pratt: for each prefix of `wanted`, the length of its longest
 * proper prefix that is also its suffix.
 */
function borderLengths(wanted: string): Uint32Array {
  const borders = new Uint32Array(wanted.length);
  let matchedLength = 0;
  for (let at = 1; at < wanted.length; at++) {
    const character = wanted.charCodeAt(at);
    while (matchedLength > 0 && wanted.charCodeAt(matchedLength) !== character)
      matchedLength = borders[matchedLength - 1] as number;
    if (wanted.charCodeAt(matchedLength) === character) matchedLength += 1;
    borders[at] = matchedLength;
  }
  return borders;
}
