/** How well an entry of a list fits what is searched: its name first, then its other texts; 0: not at all. */
export function scoreOf(search: string, [name = "", ...others]: readonly string[]): number {
  const wanted = search.trim().toLowerCase();
  const title = name.toLowerCase();
  if (title.startsWith(wanted)) return 1;
  if (title.includes(wanted)) return 0.8;
  return others.some((text) => text.toLowerCase().includes(wanted)) ? 0.4 : 0;
}
