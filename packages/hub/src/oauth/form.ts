import { OAuthError } from "./oauth-error.ts";

/** The parameters of an OAuth request. A repeated parameter is an error; an empty one is absent. */
export type Form = Readonly<Record<string, string | undefined>>;

export function readForm(params: URLSearchParams): Form {
  const form: Record<string, string> = Object.create(null);
  for (const [name, value] of params) {
    if (name in form)
      throw name === "resource"
        ? new OAuthError(
            "invalid_target",
            "resource: is repeated, but only one resource is supported",
          )
        : new OAuthError("invalid_request", `${name}: is repeated`);
    if (value.includes("\0"))
      throw new OAuthError("invalid_request", `${name}: must not contain a null character`);
    form[name] = value;
  }
  for (const name of Object.keys(form)) if (form[name] === "") delete form[name];
  return form;
}

export function requireParam(form: Form, name: string): string {
  const value = form[name];
  if (value === undefined) throw new OAuthError("invalid_request", `${name}: is missing`);
  return value;
}
