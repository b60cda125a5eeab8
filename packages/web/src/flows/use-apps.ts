import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";
import type { App, Page } from "../api/types.ts";

export const useApps = () =>
  useQuery({
    queryKey: ["apps"],
    queryFn: () => api.get<Page<App>>("/api/apps", { limit: 100 }),
  });
