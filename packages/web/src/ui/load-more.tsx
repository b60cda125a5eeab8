/** The button at the end of a paged list that loads the next page. */
import { Button } from "./button.tsx";

interface PagedQuery {
  hasNextPage: boolean;
  isFetchingNextPage: boolean;
  fetchNextPage: () => Promise<unknown>;
}

export const LoadMore = ({ list, noun }: { list: PagedQuery; noun: string }) =>
  list.hasNextPage && (
    <div className="mt-4">
      <Button busy={list.isFetchingNextPage} onClick={() => void list.fetchNextPage()}>
        Load more {noun}
      </Button>
    </div>
  );
