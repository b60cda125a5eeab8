/**
 * The authorization server of a connection redirects here. The browser does not send the session
 * cookie with a redirect from another site, so this page sends the parameters to the hub.
 */

import { useMutation } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { useLocation } from "wouter";
import { api } from "../api/client.ts";
import { queryClient } from "../app/query-client.ts";
import { usePageTitle } from "../app/use-page-title.ts";
import { ButtonLink } from "../ui/button.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { SignalHead } from "../ui/signal-head.tsx";
import { toasts } from "../ui/toast.tsx";
import { readAuthorization } from "./read-authorization.ts";

export default function AuthorizedPage() {
  usePageTitle("Authorize a connection");
  const [, navigate] = useLocation();
  const [connection, setConnection] = useState("");
  const { mutate, error } = useMutation({
    mutationFn: ({ id, response }: ReturnType<typeof readAuthorization>) =>
      api.put("/api/connections/:connection/authorization", {
        params: { connection: id },
        body: response,
      }),
    onSuccess: (checked) => {
      queryClient.setQueryData(["connections", "one", checked.id], checked);
      void queryClient.invalidateQueries({ queryKey: ["connections", "all"] });
      toasts.add({ aspect: "green", title: `The hub is authorized at “${checked.name}”` });
      navigate(`/connections/${checked.id}`, { replace: true });
    },
  });
  useEffect(() => {
    if (location.search === "") return;
    const authorization = readAuthorization(location.search);
    // The code is valid only once, so it is removed from the URL.
    history.replaceState(null, "", location.pathname);
    setConnection(authorization.id);
    mutate(authorization);
  }, [mutate]);
  if (error)
    return (
      <div className="flex flex-col items-start gap-3 p-5">
        <ErrorState error={error} />
        <ButtonLink to={`/connections/${connection}`}>Back to the connection</ButtonLink>
      </div>
    );
  return (
    <p role="status" className="flex items-center gap-3 p-5 text-ink-2">
      <SignalHead aspect="lunar" label="under way" /> Authorizing the hub…
    </p>
  );
}
