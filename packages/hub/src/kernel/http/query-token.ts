/**
 * Separates `?token=…` from the URL of a live stream. Clients that cannot set headers, such as a
 * browser's EventSource, send their token in the URL. The rest of the hub gets the URL without the token,
 * so that no error and no log line can contain it.
 */
export function separateQueryToken(url: string): { url: string; token: string | undefined } {
  const queryStart = url.indexOf("?");
  if (queryStart === -1) return { url, token: undefined };
  const query = new URLSearchParams(url.slice(queryStart));
  const token = query.get("token");
  if (token === null) return { url, token: undefined };
  query.delete("token");
  return { url: `${url.slice(0, queryStart)}?${query}`, token: token || undefined };
}
