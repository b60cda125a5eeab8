import { createNonce, NO_SNIFF, pageHeaders, policyWith } from "../kernel/http/html-page.ts";

/**
 * Serves the web UI: files with hashed names, which browsers cache, and `index.html` for every other
 * path. The Content Security Policy allows no inline script; styles need the nonce of the response.
 */
interface WebFile {
  body: Uint8Array<ArrayBuffer>;
  /** Set if the body is compressed. */
  encoding?: "br" | "gzip" | undefined;
}

/** Reads a file of the built web UI by its path, such as `/assets/app-1a2b.js`. */
export type ReadWebFile = (
  path: string,
  accepts: (encoding: "br" | "gzip") => boolean,
) => Promise<WebFile | undefined>;

/** In `index.html`, it is replaced with the nonce of the response. */
const NONCE_PLACEHOLDER = "__CSP_NONCE__";

/** The pages whose addresses the hub prints. They are also served to programs that do not ask for HTML. */
export const ENTRY_PAGES: readonly string[] = ["/", "/sign-in"];

const ASSETS = "/assets/";
/** Paths of other routes: a misspelled path must not return the page of the web UI. */
const RESERVED = /^\/(api|auth|mcp|webhooks|events|assets|oauth|\.well-known)(\/|$)/;
export const isReserved = (pathname: string): boolean => RESERVED.test(pathname);

const TYPES: Record<string, string> = {
  css: "text/css; charset=utf-8",
  html: "text/html; charset=utf-8",
  ico: "image/x-icon",
  js: "text/javascript; charset=utf-8",
  json: "application/json",
  png: "image/png",
  svg: "image/svg+xml",
  txt: "text/plain; charset=utf-8",
  webmanifest: "application/manifest+json",
  woff2: "font/woff2",
};

/**
 * Returns undefined if the request is not for a file or page of the web UI, or if the web UI is not built.
 * `imageOrigins`: see `policyWith`.
 */
export async function serveWebUi(
  read: ReadWebFile | undefined,
  request: Request,
  imageOrigins: readonly string[] = [],
): Promise<Response | undefined> {
  if (!read || (request.method !== "GET" && request.method !== "HEAD")) return undefined;
  const { pathname } = new URL(request.url);
  const isFile = /\.\w+$/.test(pathname);
  if (isFile && pathname !== "/index.html") return serveFile(read, pathname, request);
  const wantsPage =
    ENTRY_PAGES.includes(pathname) || request.headers.get("accept")?.includes("text/html");
  return wantsPage && !isReserved(pathname) ? servePage(read, imageOrigins) : undefined;
}

async function servePage(
  read: ReadWebFile,
  imageOrigins: readonly string[],
): Promise<Response | undefined> {
  const page = await read("/index.html", () => false);
  if (!page) return undefined;
  const nonce = createNonce();
  const html = new TextDecoder().decode(page.body).replaceAll(NONCE_PLACEHOLDER, nonce);
  return new Response(html, { headers: pageHeaders(nonce, policyWith(imageOrigins)) });
}

async function serveFile(
  read: ReadWebFile,
  path: string,
  { headers }: Request,
): Promise<Response | undefined> {
  const type = TYPES[path.slice(path.lastIndexOf(".") + 1)];
  if (type === undefined) return undefined;
  const accepted = headers.get("accept-encoding") ?? "";
  const file = await read(path, (encoding) => new RegExp(`\\b${encoding}\\b`).test(accepted));
  if (!file) return undefined;
  const { body, encoding } = file;
  return new Response(body, {
    headers: {
      "content-type": type,
      "content-length": String(body.byteLength),
      "cache-control": path.startsWith(ASSETS) ? "public, max-age=31536000, immutable" : "no-cache",
      vary: "accept-encoding",
      ...NO_SNIFF,
      ...(encoding && { "content-encoding": encoding }),
    },
  });
}
