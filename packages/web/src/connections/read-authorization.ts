import type { BodyAt } from "../api/client.ts";

const OPTIONAL = ["code", "iss", "error", "error_description"] as const;

/** Reads the parameters of the redirect, and the id of the connection, with which `state` begins. */
export function readAuthorization(search: string): {
  id: string;
  response: BodyAt<"put", "/api/connections/:connection/authorization">;
} {
  const params = new URLSearchParams(search);
  const state = params.get("state") ?? "";
  const others = OPTIONAL.flatMap((name) => {
    const value = params.get(name);
    return value === null ? [] : [[name, value] as const];
  });
  return {
    id: state.split(".")[0] || "unknown",
    response: { state, ...Object.fromEntries(others) },
  };
}
