import { QueryClient } from "@tanstack/react-query";
import { ApiError } from "../api/problem.ts";

export const queryClient = new QueryClient({
  defaultOptions: {
    queries: {
      staleTime: 10_000,
      // A rejection does not change by asking again; an outage may.
      retry: (count, error) =>
        count < 2 && !(error instanceof ApiError && error.problem.status < 500),
    },
  },
});
