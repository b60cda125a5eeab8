export interface Page<Item, Cursor = number> {
  items: Item[];
  /** The cursor of the next page; null on the last page. Any page may have fewer items than `limit`. */
  next: Cursor | null;
}
