/** Puts pages together until they have so many items; the last batch may have fewer. No batch is empty. */
export async function* inBatches<Item>(
  pages: AsyncIterable<readonly Item[]>,
  atLeast: number,
): AsyncGenerator<readonly Item[]> {
  let batch: Item[] = [];
  for await (const page of pages) {
    batch.push(...page);
    if (batch.length < atLeast) continue;
    yield batch;
    batch = [];
  }
  if (batch.length > 0) yield batch;
}
