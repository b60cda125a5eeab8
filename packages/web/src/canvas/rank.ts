/** How well an entry of a list fits what is searched: its name first, then its other texts; 0: not at all. */
export function scoreOf(search: string, [name = "", ...others]: readonly string[]): number {
  const wanted = search.trim().toLowerCase();
  const title = name.toLowerCase();
  if (title.startsWith(wanted)) return 1;
  if (title.includes(wanted)) return 0.8;
  return others.some((text) => text.toLowerCase().includes(wanted)) ? 0.4 : 0;
}

/** The entries that fit, the best first; all in their order if nothing is searched. */
export const rank = <Entry>(
  entries: readonly Entry[],
  search: string,
  textsOf: (entry: Entry) => readonly string[],
): Entry[] =>
  entries
    .map((entry) => ({ entry, score: scoreOf(search, textsOf(entry)) }))
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score)
    .map(({ entry }) => entry);
