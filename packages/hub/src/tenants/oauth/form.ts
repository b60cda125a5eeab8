import { OAuthError } from "./oauth-error.ts";

/** The parameters of an OAuth request. A repeated parameter is an error; an empty one is absent. */
export type Form = Readonly<Record<string, string | undefined>>;

export function readForm(params: URLSearchParams): Form {
  const form: Record<string, string> = Object.create(null);
  for (const [name, value] of params) {
    if (name in form)
      throw name === "resource"
        ? new OAuthError("invalid_target", "resource: only one is supported")
        : new OAuthError("invalid_request", `${name}: is repeated`);
    if (value.includes("\0")) throw new OAuthError("invalid_request", `${name}: is malformed`);
    form[name] = value;
  }
  for (const name of Object.keys(form)) if (form[name] === "") delete form[name];
  return form;
}

export function required(form: Form, name: string): string {
  const value = form[name];
  if (value === undefined) throw new OAuthError("invalid_request", `${name}: is missing`);
  return value;
}
