import type { App, Page } from "@signalbox/contract";
import { useQuery } from "@tanstack/react-query";
import { api } from "../api/client.ts";

export const useApps = () =>
  useQuery({
    queryKey: ["apps"],
    queryFn: () => api.get<Page<App>>("/api/apps", { limit: 100 }),
  });
