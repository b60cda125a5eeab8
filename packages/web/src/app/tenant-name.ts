/** The name of a tenant; its id if it has no name, or is not among the first 100 tenants. */

import { queryOptions } from "@tanstack/react-query";
import { api } from "../api/client.ts";

export const tenantNameQuery = (id: string) =>
  queryOptions({
    queryKey: ["tenant-name", id],
    queryFn: async (): Promise<string> => {
      const { items } = await api.get("/api/tenants", { query: { limit: 100 } });
      return items.find((tenant) => tenant.id === id)?.name ?? id;
    },
    staleTime: Number.POSITIVE_INFINITY,
  });
