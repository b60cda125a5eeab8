/** The part of `fetch` that libraries use: it streams the response body. */
export type WebFetch = (url: string | URL | Request, init?: RequestInit) => Promise<Response>;
