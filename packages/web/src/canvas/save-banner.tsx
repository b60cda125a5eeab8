/** What must be decided before the draft can be saved. */
import type { ReactNode } from "react";
import { toProblem } from "../api/problem.ts";
import { Button } from "../ui/button.tsx";
import type { Draft } from "./use-draft.ts";

export function SaveBanner({
  draft: { saving, autosave, dispatch, takeTheirs, keepMine },
}: {
  draft: Draft;
}) {
  if (saving.is === "conflict")
    return (
      <Banner
        title="This flow was changed elsewhere while you edited it."
        detail="Nothing is lost: whichever you choose, Undo or the list of versions leads back."
      >
        <Button size="small" onClick={takeTheirs}>
          Show the other edit
        </Button>
        <Button size="small" onClick={keepMine}>
          Keep mine
        </Button>
      </Banner>
    );
  if (saving.is === "emptied")
    return (
      <Banner title="The flow is empty now." detail="It is saved only if you confirm it.">
        <Button size="small" onClick={() => dispatch({ do: "undo" })}>
          Undo
        </Button>
        <Button size="small" look="danger" onClick={() => void autosave.confirmEmpty()}>
          Save it empty
        </Button>
      </Banner>
    );
  if (saving.is === "rejected") {
    const { title, detail } = toProblem(saving.error);
    return <Banner title={`Not saved: ${title}.`} detail={detail} />;
  }
  return null;
}

function Banner({
  title,
  detail,
  children,
}: {
  title: string;
  detail: string;
  children?: ReactNode;
}) {
  return (
    <div
      role="alert"
      className="flex flex-none items-center gap-3 border-line border-b bg-amber-tint px-5 py-2 text-amber"
    >
      <p className="min-w-0 flex-1">
        <b>{title}</b> {detail}
      </p>
      {children}
    </div>
  );
}
