import { useParams } from "wouter";
import { ButtonLink } from "../ui/button.tsx";
import { ErrorState } from "../ui/error-state.tsx";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { RunView } from "./run-view.tsx";
import { useRunData } from "./use-run-data.ts";

export default function RunPage() {
  const { run: id = "" } = useParams<{ run: string }>();
  return <LoadedRunPage key={id} id={id} />;
}

function LoadedRunPage({ id }: { id: string }) {
  const loaded = useRunData(id);
  if (loaded.data) return <RunView loaded={loaded} data={loaded.data} />;
  if (!loaded.error) return <SkeletonRows rows={12} />;
  return (
    <>
      <ErrorState error={loaded.error} onRetry={() => void loaded.refetch()} />
      <div className="mx-auto">
        <ButtonLink to="/runs">Show all runs</ButtonLink>
      </div>
    </>
  );
}
