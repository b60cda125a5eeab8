import { EmptyState } from "../ui/empty-state.tsx";

export default function RunPage() {
  return <EmptyState title="Run" />;
}
