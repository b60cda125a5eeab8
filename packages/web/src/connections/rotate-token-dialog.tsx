/** Sends the server a new callback token, and keeps the previous one for a day or revokes it. */

import type { Subscription } from "@signalbox/contract";
import { useMutation } from "@tanstack/react-query";
import { KeyRound } from "lucide-react";
import { useState } from "react";
import { api } from "../api/client.ts";
import { queryClient } from "../app/query-client.ts";
import { Button } from "../ui/button.tsx";
import { cx } from "../ui/cx.ts";
import { Dialog } from "../ui/dialog.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { toasts } from "../ui/toast.tsx";

const KEEP = {
  revokeNow: false,
  title: "Keep the previous token for a day",
  effect: "Events that the server still sends with it arrive.",
  done: "The server gets a new callback token. The previous token stays valid for a day.",
};
const REVOKE = {
  revokeNow: true,
  title: "Revoke the previous token now",
  effect:
    "Choose this if it leaked. The hub rejects events with it (401), so deliveries fail until the server has the new token. Servers that do not retry lose these events.",
  done: "The previous callback token is revoked. The server gets a new one.",
};

export function RotateTokenDialog({
  connection,
  subscription,
  flowName,
  onClose,
}: {
  connection: string;
  subscription: Pick<Subscription, "id">;
  flowName: string;
  onClose: () => void;
}) {
  const [{ revokeNow, done }, setChoice] = useState(KEEP);
  const rotate = useMutation({
    mutationFn: () =>
      api.post("/api/connections/:connection/subscriptions/:subscription/rotate", {
        params: { connection, subscription: subscription.id },
        body: {
          revoke_now: revokeNow,
        },
      }),
    onSuccess: () => {
      void queryClient.invalidateQueries({
        queryKey: ["connections", "subscriptions", connection],
      });
      toasts.add({ title: done });
      onClose();
    },
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title={`New callback token for “${flowName}”`}
      description="The hub sends the new token to the server right away. If the triggers of this connection share tokens, all of them get new ones."
      actions={
        <>
          <Button onClick={onClose}>Cancel</Button>
          <Button
            look={revokeNow ? "danger" : "primary"}
            icon={KeyRound}
            busy={rotate.isPending}
            onClick={() => rotate.mutate()}
          >
            {revokeNow ? "Revoke and send a new token" : "Send a new token"}
          </Button>
        </>
      }
    >
      <fieldset className="flex flex-col gap-2">
        <legend className="pb-1 type-label text-ink-2">The previous token</legend>
        {[KEEP, REVOKE].map((choice) => (
          <label
            key={choice.title}
            className={cx(
              "flex cursor-pointer items-start gap-2 rounded-chip border border-line px-3 py-2 has-focus-visible:outline-2 has-focus-visible:outline-focus",
              choice.revokeNow === revokeNow ? "bg-blue-tint" : "hover:bg-hover",
            )}
          >
            <input
              type="radio"
              name="revoke-now"
              checked={choice.revokeNow === revokeNow}
              onChange={() => setChoice(choice)}
              className="mt-[3px] flex-none accent-blue"
            />
            <span className="min-w-0 flex-1">
              <span className="block type-strong">{choice.title}</span>
              <span className="block type-meta text-ink-2">{choice.effect}</span>
            </span>
          </label>
        ))}
      </fieldset>
      {rotate.error && (
        <div className="pt-3">
          <ErrorState compact error={rotate.error} />
        </div>
      )}
    </Dialog>
  );
}
