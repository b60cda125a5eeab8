/**
 * Client ID metadata documents: the client's id is the URL of a document that describes it. The URL comes
 * from the outside, so `fetch` must refuse private addresses; no redirect is followed.
 */
import { z } from "zod";
import type { Timers } from "../../lib/timers.ts";
import type { WebFetch } from "../../lib/web-fetch.ts";
import { OAuthError } from "./oauth-error.ts";
import { redirectUriError } from "./redirect-uris.ts";

const MAX_BYTES = 16_384;
const TIMEOUT_MS = 5_000;
const MAX_URL = 500;

/** Whether a client id is the URL of a metadata document. */
export function isDocumentUrl(id: string): boolean {
  const url = URL.parse(id);
  return (
    url?.protocol === "https:" &&
    url.href === id &&
    url.pathname !== "/" &&
    url.hash === "" &&
    url.username === "" &&
    url.password === "" &&
    id.length <= MAX_URL
  );
}

const text = z.string().max(200);

const clientDocument = z.object({
  client_id: z.string(),
  client_name: text.optional(),
  redirect_uris: z.array(z.string()).min(1).max(20),
  grant_types: z.array(text).max(20).optional(),
  token_endpoint_auth_method: z.literal("none").optional(),
  client_secret: z.undefined("must not be published").optional(),
});
export type ClientDocument = z.infer<typeof clientDocument>;

export async function fetchClientDocument(
  fetch: WebFetch,
  timers: Pick<Timers, "after">,
  url: string,
): Promise<ClientDocument> {
  const abort = new AbortController();
  const cancel = timers.after(TIMEOUT_MS, () => abort.abort(new Error("it took too long")));
  try {
    const response = await fetch(url, {
      headers: { accept: "application/json" },
      redirect: "error",
      signal: abort.signal,
    });
    if (response.status !== 200) throw new Error(`the server answered ${response.status}`);
    const document = clientDocument.parse(JSON.parse(await readLimited(response)));
    if (document.client_id !== url) throw new Error("its client_id is another URL");
    const wrong = document.redirect_uris.map(redirectUriError).find(Boolean);
    if (wrong !== undefined) throw new Error(`redirect_uris: ${wrong}`);
    return document;
  } catch (error) {
    throw new OAuthError(
      "invalid_client",
      `The client's metadata cannot be used: ${reason(error)}`,
    );
  } finally {
    cancel();
    abort.abort();
  }
}

const reason = (error: unknown): string =>
  error instanceof z.ZodError
    ? error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`).join("; ")
    : error instanceof Error
      ? error.message
      : String(error);

async function readLimited(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let size = 0;
  let body = "";
  for await (const chunk of response.body ?? []) {
    size += chunk.byteLength;
    if (size > MAX_BYTES) throw new Error(`it exceeds ${MAX_BYTES} bytes`);
    body += decoder.decode(chunk, { stream: true });
  }
  return body + decoder.decode();
}
