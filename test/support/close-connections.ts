/** workerd closes idle connections without a notice, and a request on such a connection fails. */
const origins = new Set<string>();
const { fetch } = globalThis;

/** From now on, `fetch` opens a new connection for each request to this URL, also inside of libraries. */
export function closeConnectionsTo(url: string): void {
  origins.add(new URL(url).origin);
  globalThis.fetch = fetchAndClose;
}

const fetchAndClose: typeof fetch = (input, init) => {
  const request = input instanceof Request ? input : undefined;
  if (!origins.has(new URL(request?.url ?? String(input)).origin)) return fetch(input, init);
  const headers = new Headers(init?.headers ?? request?.headers);
  headers.set("connection", "close");
  return fetch(input, { ...init, headers });
};
