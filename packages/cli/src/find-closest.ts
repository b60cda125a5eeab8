/**
 * Returns the known word that the user most likely meant. A word is similar if it differs in at most a
 * third of its characters, or if the input is its beginning. Returns undefined if no word is similar.
 */
export function findClosest(input: string, knownWords: readonly string[]): string | undefined {
  const similarWords = knownWords
    .map((word) => ({ word, distance: editDistance(input, word) }))
    .filter(({ word, distance }) => distance <= Math.max(1, Math.floor(word.length / 3)))
    .toSorted((a, b) => a.distance - b.distance);
  return (
    similarWords[0]?.word ?? knownWords.find((word) => input.length > 2 && word.startsWith(input))
  );
}

/** Computes the edit distance. Swapping two adjacent characters counts as one edit. */
function editDistance(a: string, b: string): number {
  let rowBeforeLast: number[] = [];
  let lastRow = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row += 1) {
    const currentRow = [row];
    for (let column = 1; column <= b.length; column += 1) {
      const isSame = a[row - 1] === b[column - 1];
      const edits = [
        (lastRow[column] as number) + 1,
        (currentRow[column - 1] as number) + 1,
        (lastRow[column - 1] as number) + (isSame ? 0 : 1),
      ];
      if (row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1])
        edits.push((rowBeforeLast[column - 2] as number) + 1);
      currentRow.push(Math.min(...edits));
    }
    rowBeforeLast = lastRow;
    lastRow = currentRow;
  }
  return lastRow[b.length] as number;
}
