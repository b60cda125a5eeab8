const PARAMETERS = ["state", "code", "iss", "error", "error_description"];

/** The parameters of the redirect, and the connection that they are for: `state` begins with its id. */
export function readAuthorization(search: string): {
  id: string;
  response: Record<string, string>;
} {
  const given = new URLSearchParams(search);
  const response: Record<string, string> = { state: "" };
  for (const name of PARAMETERS) {
    const value = given.get(name);
    if (value !== null) response[name] = value;
  }
  return { id: response.state?.split(".")[0] || "unknown", response };
}
