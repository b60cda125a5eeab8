/** The known word that was most likely meant; undefined if none is similar. */
export function closest(given: string, known: readonly string[]): string | undefined {
  const candidates = known
    .map((word) => ({ word, distance: distanceOf(given, word) }))
    .filter(({ word, distance }) => distance <= Math.max(1, Math.floor(word.length / 3)))
    .toSorted((a, b) => a.distance - b.distance);
  return candidates[0]?.word ?? known.find((word) => given.length > 2 && word.startsWith(given));
}

/** The edit distance, where swapping two neighbours counts as one edit. */
function distanceOf(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, at) => at);
  for (let row = 1; row <= a.length; row += 1) {
    const next = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const isSame = a[row - 1] === b[column - 1];
      const edits = [
        (last[column] as number) + 1,
        (next[column - 1] as number) + 1,
        (last[column - 1] as number) + (isSame ? 0 : 1),
      ];
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1])
        edits.push((before[column - 2] as number) + 1);
      next.push(Math.min(...edits));
    }
    before = last;
    last = next;
  }
  return last[b.length] as number;
}
