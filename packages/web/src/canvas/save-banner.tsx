/** Shows why the draft is not saved, and asks the user how to continue. */
import type { ReactNode } from "react";
import { toProblem } from "../api/problem.ts";
import { Button } from "../ui/button.tsx";
import type { Conflict, Draft } from "./use-draft.ts";

export function SaveBanner({
  draft: { saving, conflict, autosave, dispatch, adopt },
}: {
  draft: Draft;
}) {
  if (conflict) return <ConflictBanner conflict={conflict} onChoose={adopt} />;
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

const MAX_NAMED = 3;

function ConflictBanner({
  conflict: { theirs, collisions },
  onChoose,
}: {
  conflict: Conflict;
  onChoose: Draft["adopt"];
}) {
  const named = collisions.slice(0, MAX_NAMED).join(", ");
  const unnamedCount = collisions.length - MAX_NAMED;
  return (
    <Banner
      title="This flow was changed elsewhere while you edited it."
      detail={`Both edits changed ${named}${unnamedCount > 0 ? ` and ${unnamedCount} more` : ""}. All other edits are kept, and Undo shows the other choice.`}
    >
      <Button size="small" onClick={() => onChoose(theirs, "theirs")}>
        Take the other edit
      </Button>
      <Button size="small" onClick={() => onChoose(theirs, "mine")}>
        Keep mine
      </Button>
    </Banner>
  );
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
      <p className="wrap-anywhere min-w-0 flex-1">
        <b>{title}</b> {detail}
      </p>
      {children}
    </div>
  );
}
