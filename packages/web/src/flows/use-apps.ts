import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";

export const useApps = () =>
  useQuery({
    queryKey: ["apps"],
    queryFn: () => api.get("/api/apps", { query: { limit: 100 } }),
  });
