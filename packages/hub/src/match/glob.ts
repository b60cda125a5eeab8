/**
 * `*` is any run of characters, `?` is one. Not made into a regular expression: some of those take
 * exponential time, and both sides come from strangers. This takes the product of the lengths.
 */
export function matchesGlob(text: string, pattern: string): boolean {
  let at = 0;
  let place = 0;
  let star = -1;
  let from = 0;
  while (at < text.length) {
    if (pattern[place] === "*") {
      star = place++;
      from = at;
    } else if (place < pattern.length && (pattern[place] === "?" || pattern[place] === text[at])) {
      place++;
      at++;
    } else if (star >= 0) {
      // The last star takes one character more.
      place = star + 1;
      at = ++from;
    } else return false;
  }
  while (pattern[place] === "*") place++;
  return place === pattern.length;
}
