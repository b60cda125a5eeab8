import { QueryCache, QueryClient } from "@tanstack/react-query";
import { isOutage, isStatus } from "../api/problem.ts";

export const queryClient: QueryClient = new QueryClient({
  queryCache: new QueryCache({
    // The session has ended: the page asks to sign in again.
    onError: (error, { queryKey: [topic] }) => {
      if (isStatus(error, 401) && topic !== "session")
        void queryClient.invalidateQueries({ queryKey: ["session"] });
    },
  }),
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // Retries only during an outage. If the hub rejects a request, it would reject it again.
      retry: (count, error) => count < 2 && isOutage(error),
    },
  },
});
