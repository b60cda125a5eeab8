import { EmptyState } from "../ui/empty-state.tsx";

export default function SourcesPage() {
  return <EmptyState title="Sources" />;
}
