import { useQuery } from "@tanstack/react-query";
import { useParams } from "wouter";
import { api } from "../api/client.ts";
import { ErrorState } from "../ui/error-state.tsx";
import { SkeletonRows } from "../ui/skeleton.tsx";
import { Editor } from "./editor.tsx";

export default function CanvasPage() {
  const { flow: id = "" } = useParams<{ flow: string }>();
  const { data, error, isPending, refetch } = useQuery({
    // The key does not start with "flows": a change by another client must not replace the edited draft.
    queryKey: ["canvas", id],
    queryFn: ({ signal }) => api.get("/api/flows/:flow", { params: { flow: id }, signal }),
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnWindowFocus: false,
    refetchOnReconnect: false,
  });
  if (isPending) return <SkeletonRows />;
  if (error) return <ErrorState error={error} onRetry={() => void refetch()} />;
  return <Editor key={id} loaded={data} />;
}
