/** Buttons for a connection with OAuth: the user authorizes the hub at the server, or signs the hub out. */

import type { ConnectionDetails } from "@signalbox/contract";
import { useMutation } from "@tanstack/react-query";
import { LogIn, LogOut } from "lucide-react";
import { api } from "../api/client.ts";
import { queryClient } from "../app/query-client.ts";
import { Button } from "../ui/button.tsx";
import { toastError, toasts } from "../ui/toast.tsx";

export function AuthorizationButtons({ id, status }: Pick<ConnectionDetails, "id" | "status">) {
  const params = { connection: id };
  const isNeeded = status === "needs_authorization";
  const authorize = useMutation({
    mutationFn: () => api.post("/api/connections/:connection/authorization", { params }),
    onSuccess: ({ url }) => location.assign(url),
    onError: toastError,
  });
  const signOut = useMutation({
    mutationFn: () => api.delete("/api/connections/:connection/authorization", { params }),
    onSuccess: (checked) => {
      queryClient.setQueryData(["connections", "one", id], checked);
      void queryClient.invalidateQueries({ queryKey: ["connections", "all"] });
      toasts.add({ title: "The hub has signed out of the server" });
    },
    onError: toastError,
  });
  return (
    <>
      <Button
        icon={LogIn}
        {...(isNeeded && { look: "primary" as const })}
        busy={authorize.isPending || authorize.isSuccess}
        onClick={() => authorize.mutate()}
      >
        {isNeeded ? "Authorize" : "Authorize again"}
      </Button>
      {!isNeeded && (
        <Button icon={LogOut} busy={signOut.isPending} onClick={() => signOut.mutate()}>
          Sign out
        </Button>
      )}
    </>
  );
}
