/** Who is signed in. Without a session the whole page is the sign-in page. */
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import { isStatus } from "../api/problem.ts";
import type { Session } from "../api/types.ts";

export const sessionQuery = {
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
};

export const useSession = () => useQuery(sessionQuery);

export const signIn = async (code: string): Promise<void> => api.post("/api/session", { code });
export const signOut = () => api.delete("/api/session");
