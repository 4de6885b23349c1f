/** Of a response without its items. */
const OVERHEAD_BYTES = 100;

/** As many of the first items as fit into a message, and one in any case. */
export const firstThatFit = <Item>(items: readonly Item[], maxBytes: number): Item[] => {
  const fitting: Item[] = [];
  let left = maxBytes - OVERHEAD_BYTES;
  for (const item of items) {
    left -= Buffer.byteLength(JSON.stringify(item)) + 1;
    if (left < 0 && fitting.length > 0) return fitting;
    fitting.push(item);
  }
  return fitting;
};
