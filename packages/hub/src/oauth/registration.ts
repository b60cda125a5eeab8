/** Validates the metadata of a client that registers itself (RFC 7591). */
import { z } from "zod";
import { OAuthError } from "./oauth-error.ts";
import { redirectUriError } from "./redirect-uris.ts";

const MAX_NAME = 100;
const MAX_ENTRIES = 10;
const MAX_URI = 500;
const MAX_GRANT_TYPE = 100;
/** Control characters, including those of bidirectional text. The consent page shows the name. */
const CONTROL = /[\p{Cc}\p{Cs}\u202a-\u202e\u2066-\u2069]/u;

const text = (max: number) =>
  z.string("must be a string").max(max, `must have at most ${max} characters`);
const list = (max: number) =>
  z
    .array(text(max), "must be an array of strings")
    .max(MAX_ENTRIES, `must have at most ${MAX_ENTRIES} entries`);

const schema = z.object(
  {
    client_name: text(MAX_NAME)
      .refine((name) => !CONTROL.test(name), "must have no control characters")
      .trim()
      .optional(),
    redirect_uris: list(MAX_URI).default([]),
    grant_types: list(MAX_GRANT_TYPE).default(["authorization_code", "refresh_token"]),
  },
  "must be a JSON object",
);
export type Registration = z.infer<typeof schema>;

export function readRegistration(metadata: unknown): Registration {
  const { data, error } = schema.safeParse(metadata);
  if (!data) throw new OAuthError("invalid_client_metadata", describe(error));
  for (const [index, uri] of data.redirect_uris.entries()) {
    const uriError = redirectUriError(uri);
    if (uriError !== undefined)
      throw new OAuthError("invalid_redirect_uri", `redirect_uris[${index}]: ${uriError}`);
  }
  if (data.grant_types.includes("authorization_code") && data.redirect_uris.length === 0)
    throw new OAuthError("invalid_redirect_uri", "redirect_uris: must not be empty");
  return data;
}

const describe = ({ issues }: z.ZodError): string =>
  issues.map(({ path, message }) => `${fieldOf(path)}: ${message}`).join("; ");

const fieldOf = ([name = "body", index]: readonly PropertyKey[]): string =>
  index === undefined ? String(name) : `${String(name)}[${String(index)}]`;
