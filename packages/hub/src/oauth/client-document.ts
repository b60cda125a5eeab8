/**
 * Fetches client ID metadata documents: the client's id is the URL of a document that describes it. The
 * URL is untrusted, so `fetch` must refuse private addresses, and no redirect is followed.
 */
import { z } from "zod";
import type { Timers } from "../kernel/lib/timers.ts";
import type { WebFetch } from "../kernel/lib/web-fetch.ts";
import { OAuthError } from "./oauth-error.ts";
import { redirectUriError } from "./redirect-uris.ts";

const MAX_BYTES = 16_384;
const TIMEOUT_MS = 5_000;
const MAX_URL = 500;

/** Returns whether a client id is the URL of a metadata document. */
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

const clientDocumentSchema = z.object({
  client_id: z.string(),
  client_name: text.optional(),
  redirect_uris: z.array(z.string()).min(1).max(20),
  grant_types: z.array(text).max(20).optional(),
  token_endpoint_auth_method: z.literal("none").optional(),
  client_secret: z.undefined("must not be published").optional(),
});
export type ClientDocument = z.infer<typeof clientDocumentSchema>;

export async function fetchClientDocument(
  fetch: WebFetch,
  timers: Pick<Timers, "after">,
  url: string,
): Promise<ClientDocument> {
  const abort = new AbortController();
  const cancel = timers.after(TIMEOUT_MS, () =>
    abort.abort(new Error(`the server did not respond within ${TIMEOUT_MS / 1000} s`)),
  );
  try {
    const response = await fetch(url, {
      headers: { accept: "application/json" },
      redirect: "error",
      signal: abort.signal,
    });
    if (response.status !== 200) throw new Error(`the server returned ${response.status}`);
    const document = clientDocumentSchema.parse(JSON.parse(await readLimited(response)));
    if (document.client_id !== url) throw new Error("its client_id is another URL");
    const uriError = document.redirect_uris.map(redirectUriError).find(Boolean);
    if (uriError !== undefined) throw new Error(`redirect_uris: ${uriError}`);
    return document;
  } catch (error) {
    throw new OAuthError(
      "invalid_client",
      `The client's metadata cannot be used: ${describeError(error)}`,
    );
  } finally {
    cancel();
    abort.abort();
  }
}

const describeError = (error: unknown): string =>
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
