import { EmptyState } from "../ui/empty-state.tsx";

export default function CanvasPage() {
  return <EmptyState title="Flow" />;
}
