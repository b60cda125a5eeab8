const PARAMETERS = ["state", "code", "iss", "error", "error_description"];

/** Reads the parameters of the redirect, and the id of the connection, with which `state` begins. */
export function readAuthorization(search: string): {
  id: string;
  response: Record<string, string>;
} {
  const params = new URLSearchParams(search);
  const response: Record<string, string> = { state: "" };
  for (const name of PARAMETERS) {
    const value = params.get(name);
    if (value !== null) response[name] = value;
  }
  return { id: response.state?.split(".")[0] || "unknown", response };
}
