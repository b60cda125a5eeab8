/** Who is signed in. Without a session the whole page is the sign-in page. */
import { queryOptions, useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { isStatus } from "../api/problem.ts";
import { chooseTenant } from "../api/tenant.ts";
import type { Session } from "../api/types.ts";
import { toastError } from "../ui/toast.tsx";

const RETRY_MS = 3_000;

export const sessionQuery = queryOptions({
  queryKey: ["session"],
  queryFn: async (): Promise<Session | null> => {
    try {
      return await api.get<Session>("/api/session");
    } catch (error) {
      if (isStatus(error, 401)) return null;
      throw error;
    }
  },
  staleTime: 60_000,
  // There is no live stream yet that would notice that the hub responds again.
  refetchInterval: ({ state }) => state.data === undefined && state.error !== null && RETRY_MS,
});

export const useSession = () => useQuery(sessionQuery);

export async function signIn(code: string): Promise<void> {
  await api.post("/api/session", { code });
  // The session before may have had other tenants.
  chooseTenant(undefined);
}

/** Ends the session, and with the page everything that was loaded. */
export const signOut = (): Promise<void> =>
  api.delete("/api/session").then(() => location.assign("/sign-in"), toastError);
