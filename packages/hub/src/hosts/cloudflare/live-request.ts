import type { LiveRequest } from "../../events/live/live-streams.ts";

/** Path and query of a URL. */
export function pathOf(url: string): string {
  const { pathname, search } = new URL(url);
  return `${pathname}${search}`;
}

export const toLiveRequest = ({ method, url, headers }: Request): LiveRequest => ({
  method,
  url: pathOf(url),
  header: (name) => headers.get(name) || undefined,
});
