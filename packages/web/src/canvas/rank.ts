/** Returns how well an entry matches the search, from 0 (no match) to 1. Matches in its name score higher. */
export function scoreOf(search: string, [name = "", ...others]: readonly string[]): number {
  const query = search.trim().toLowerCase();
  const title = name.toLowerCase();
  if (title.startsWith(query)) return 1;
  if (title.includes(query)) return 0.8;
  return others.some((text) => text.toLowerCase().includes(query)) ? 0.4 : 0;
}

/** Returns the matching entries, the best match first. An empty search returns all entries in their order. */
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
