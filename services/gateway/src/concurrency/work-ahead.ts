/** The results of work on each item, in order. Work on at most `ahead` items is begun before their turn. */
export async function* workAhead<Item, Result>(
  items: readonly Item[],
  ahead: number,
  work: (item: Item) => Promise<Result>,
): AsyncGenerator<Result> {
  const begun: Promise<Result>[] = [];
  for (const at of items.keys()) {
    for (const item of items.slice(begun.length, at + 1 + ahead)) {
      const result = work(item);
      // Nothing awaits it when the reader stops.
      result.catch(() => undefined);
      begun.push(result);
    }
    const next = begun[at];
    if (next) yield await next;
  }
}
