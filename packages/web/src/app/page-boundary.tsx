/** Shows an error of a page in its place, so that the navigation stays usable. */
import { Component, type ReactNode } from "react";
import { ErrorState } from "../ui/error-state.tsx";

export class PageBoundary extends Component<{ children: ReactNode }, { error: unknown }> {
  override state: { error: unknown } = { error: undefined };

  static getDerivedStateFromError(error: unknown) {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (error === undefined) return this.props.children;
    return <ErrorState error={error} onRetry={() => this.setState({ error: undefined })} />;
  }
}
