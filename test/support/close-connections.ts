/**
 * Makes `fetch` open a new connection for each request to workerd. workerd closes idle connections without
 * notice, and a request on a closed connection fails.
 */
const workerdOrigins = new Set<string>();
const { fetch } = globalThis;

/** Replaces the global `fetch`, so that requests of libraries to this origin use new connections too. */
export function closeConnectionsTo(url: string): void {
  workerdOrigins.add(new URL(url).origin);
  globalThis.fetch = fetchAndClose;
}

const fetchAndClose: typeof fetch = (input, init) => {
  const request = input instanceof Request ? input : undefined;
  if (!workerdOrigins.has(new URL(request?.url ?? String(input)).origin)) return fetch(input, init);
  const headers = new Headers(init?.headers ?? request?.headers);
  headers.set("connection", "close");
  return fetch(input, { ...init, headers });
};
