import { EmptyState } from "../ui/empty-state.tsx";

export default function SettingsPage() {
  return <EmptyState title="Settings" />;
}
