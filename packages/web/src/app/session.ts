/** The session of this browser. Without one, the app shows only the sign-in page. */

import type { Session } from "@signalbox/contract";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { api, toUrl } from "../api/client.ts";
import { isStatus } from "../api/problem.ts";
import { chooseTenant, chosenTenant, tenantToPin } from "../api/tenant.ts";
import { toastError } from "../ui/toast.tsx";
import { roleIn } from "./role.ts";

const RETRY_MS = 3_000;

export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: async (): Promise<Session | null> => {
    try {
      const session = await api.get("/api/session");
      const pinned = tenantToPin(session, chosenTenant());
      if (pinned !== undefined) chooseTenant(pinned);
      return session;
    } catch (error) {
      if (isStatus(error, 401)) return null;
      throw error;
    }
  },
  staleTime: 60_000,
  // Until the first session is loaded, there is no live stream to detect that the hub responds again.
  refetchInterval: ({ state }) => state.data === undefined && state.error !== null && RETRY_MS,
});

export const useSession = () => useQuery(sessionQuery);

/** Whether the session may manage the chosen tenant: flows, connections, tokens, settings. */
export const useIsAdmin = (): boolean => {
  const { data } = useSession();
  return data ? roleIn(data, chosenTenant()) === "admin" : false;
};

export const useSignInMethods = (enabled: boolean) =>
  useQuery({
    queryKey: ["sign-in-methods"],
    queryFn: () => api.get("/api/session/methods"),
    staleTime: Number.POSITIVE_INFINITY,
    enabled,
  });

/** `returnTo` is a path of this hub. The hub replaces other URLs by the start page. */
export const githubSignInUrl = (returnTo: string): string =>
  toUrl("/auth/github", { return_to: returnTo });

export async function signIn(code: string): Promise<void> {
  await api.post("/api/session", { body: { code } });
  // The previous session may have had other tenants.
  chooseTenant(undefined);
}

/** Ends the session, and loads the app again, so that no data of the session remains in memory. */
export const signOut = (): Promise<void> =>
  api.delete("/api/session").then(() => location.assign("/sign-in"), toastError);
